-- Makes a thread due. An entry that is there is moved: its claim no longer holds.
-- KEYS   due, bell, begun
-- ARGV   thread; µs from now
-- Reply  when it is due, Unix µs
-- Twice  it is moved once more, by the time in between, and rings once more: a
--        worker that was given the thread in between loses its turn, not its lease.
local clock = redis.call('TIME')
local due = string.format('%.0f', clock[1] * 1000000 + clock[2] + ARGV[2])
redis.call('ZADD', KEYS[1], due, ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
if tonumber(ARGV[2]) <= 0 then
  redis.call('LPUSH', KEYS[2], '1')
  redis.call('LTRIM', KEYS[2], 0, 127) -- as many wake-ups as are worth keeping
  redis.call('PEXPIRE', KEYS[2], 60000)
end
return due
