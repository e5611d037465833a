"""Work on divisible jobs from anywhere with outbound HTTPS: the frontend of a site, and the SDK for its programs."""
