"""What must hold of a book in memory after every call, counted the long way round."""

from collections import Counter

from tradewind.core.divisible.book import MemoryBook


def audit(book: MemoryBook) -> None:
    for job in book.jobs.values():
        partitions = [partition for (number, _), partition in book.partitions.items() if number == job.number]
        live = [partition for partition in partitions if partition.is_live]
        owner = Counter[int]()
        for begin, end in book.free.get(job.number, ()):
            owner.update(range(begin, end))
        owner.update(range(job.cursor, job.iterations))
        assert owner.total() == job.unassigned
        for partition in partitions:
            for begin, end in partition.held:
                owner.update(range(begin, end))
            assert partition.count == sum(end - begin for begin, end in partition.held)
            assert partition.left >= 0
            assert partition.is_live or not partition.held
        assert owner.total() == job.unassigned + job.assigned
        delivered = [d for d in book.deliveries.values() if d.job == job.number]
        for delivery in delivered:
            for begin, end in delivery.ranges:
                owner.update(range(begin, end))
        assert owner == Counter(range(job.iterations)), "each iteration is in one place"
        assert job.delivered == sum(end - begin for d in delivered for begin, end in d.ranges)
        assert job.delivered == sum(partition.delivered for partition in partitions)
        assert job.computed == job.delivered + sum(p.done - p.delivered for p in live)
        assert job.live == len(live)
        assert job.measured == sum(p.speed.value > 0 for p in live)
        assert job.paced == sum(p.speed.value * p.heard for p in live)
        assert job.speeds == sum(p.speed.value for p in live)
        assert job.queued >= 0
        assert job.live + job.queued <= max(job.maximum, job.initial)
        assert (job.state == "done") == (job.delivered == job.iterations) or job.state in ("failed", "cancelled")
        if not job.is_over:
            assert job.live + job.queued > 0, "somebody works on it, or will"
    running = Counter(job.spec.tenant for job in book.jobs.values() for _ in range(job.live))
    for name, count in running.items():
        assert book.tenant(name).running == count
