-- Takes a thread off the index, unless its entry was moved since it was read.
--
-- KEYS  the index
-- ARGV  [1] id, [2] the score that was read
-- Reply 1 when the entry is gone by this call, else 0
--
-- May run twice: the second time there is no entry of that score.
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if score and tonumber(score) == tonumber(ARGV[2]) then return redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0
