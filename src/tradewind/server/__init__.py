"""The server: runs of many people over REST, with events as they happen.

`app` puts it together; `routes` has one file for each noun, `schemas`, `people` and `estate` what goes in and out,
`auth` who may, `limits` how much, `stream` the events, `settings` where all of it is said.
"""
