-- Counts.
-- KEYS   due
-- ARGV   -
-- Reply  how many are due now; how many are in a turn or due later
local clock = redis.call('TIME')
local now = string.format('%.0f', clock[1] * 1000000 + clock[2])
return { redis.call('ZCOUNT', KEYS[1], '-inf', now), redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf') }
