-- Makes a claimed thread due after a time, if its turn is still the one given. It
-- stays among those begun, which are handed out first.
-- KEYS   begun, bell
-- ARGV   thread; end of its turn, Unix µs; µs from now
-- Reply  1 when it was moved
-- Twice  the second time its turn is another already.
local held = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]))
if not held or held ~= tonumber(ARGV[2]) then return 0 end
local clock = redis.call('TIME')
local due = clock[1] * 1000000 + clock[2] + ARGV[3]
if due == held then due = due + 1 end
redis.call('ZADD', KEYS[1], string.format('%.0f', due), ARGV[1])
if tonumber(ARGV[3]) <= 0 then
  redis.call('LPUSH', KEYS[2], '1')
  redis.call('LTRIM', KEYS[2], 0, 127)
  redis.call('PEXPIRE', KEYS[2], 60000)
end
return 1
