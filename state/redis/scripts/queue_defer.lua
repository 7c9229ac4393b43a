-- Makes a claimed thread due after a time, if its turn is still the one given.
-- KEYS   due, bell, turns
-- ARGV   thread; end of its turn, Unix µs; µs from now
-- Reply  1 when it was moved
-- Twice  the second time it is in no turn, or in another.
if tonumber(redis.call('ZSCORE', KEYS[3], ARGV[1])) ~= tonumber(ARGV[2]) then return 0 end
local clock = redis.call('TIME')
redis.call('ZADD', KEYS[1], string.format('%.0f', clock[1] * 1000000 + clock[2] + ARGV[3]), ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
if tonumber(ARGV[3]) <= 0 then
  redis.call('LPUSH', KEYS[2], '1')
  redis.call('LTRIM', KEYS[2], 0, 127)
  redis.call('PEXPIRE', KEYS[2], 60000)
end
return 1
