"""The one gate where counters meet noise: who may release, when it is paid for, and what leaves."""
