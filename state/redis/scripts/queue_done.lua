-- Takes a thread out of the queue, if its turn is still the one given.
-- KEYS   begun
-- ARGV   thread; end of its turn, Unix µs
-- Reply  how many were taken out
-- Twice  the second time there is nothing left to take out.
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1])) ~= tonumber(ARGV[2]) then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
