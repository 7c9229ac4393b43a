-- Enters a thread in the index, before it is made.
--
-- KEYS  the index
-- ARGV  [1] id, [2] "1": an entry that is there is moved to now
-- Reply 1 when it was entered or moved, 0 when there was one
--
-- May run twice: the second time it may find its own entry, which the caller
-- takes for one that dangles.
local clock = redis.call('TIME')
local now = string.format('%.0f', tonumber(clock[1]) * 1000000 + tonumber(clock[2]))
if ARGV[2] == '1' then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  return 1
end
return redis.call('ZADD', KEYS[1], 'NX', now, ARGV[1])
