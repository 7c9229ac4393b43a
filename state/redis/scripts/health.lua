-- Stores samples of one server of ten minutes, each in place of the one of the
-- same minute, capability and worker.
--
-- KEYS  the hash of that server and those ten minutes
-- ARGV  [1] time to live, ms, [2] most fields, [3…] field, sample
-- Reply how many were dropped since the hash is full
--
-- May run twice: it writes the same again.
local size, dropped = redis.call('HLEN', KEYS[1]), 0
for i = 3, #ARGV, 2 do
  if size < tonumber(ARGV[2]) or redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 then
    size = size + redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  else
    dropped = dropped + 1
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return dropped
