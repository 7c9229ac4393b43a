-- Gives a key that is free to its owner, or says what stands in the way.
--
-- ARGV  [2] key, [3] fingerprint, [4] receipt, [5] lease, µs, [6] "1": take over a
--       claim with this fingerprint whose lease has ended
-- Reply what find replies, with "1" before it when the key is this owner's
--
-- May run twice: an owner is given its key again. One that has committed is
-- answered like everybody else.
local e = look()
local mine = '0'
if not e then
  call('HSET', K, 'key', ARGV[2], 'fp', ARGV[3], 'receipt', ARGV[4], 'owner', owner, 'claims', '1', 'exec', '0',
    'claimed', stamp, 'until', ahead(ARGV[5]))
  mine = '1'
elseif not e.done and e.owner == owner then
  call('HSET', K, 'until', ahead(ARGV[5]))
  mine = '1'
elseif not e.done and not e.live and ARGV[6] == '1' and e.fp == ARGV[3] then
  call('HSET', K, 'owner', owner, 'until', ahead(ARGV[5]))
  call('HINCRBY', K, 'claims', 1)
  mine = '1'
end
if mine == '1' then keep() end
return { mine, stamp, call('HGETALL', K) }
