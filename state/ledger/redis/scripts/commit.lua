-- Stores a result and counts its execution.
--
-- ARGV  [2] result
-- Reply ok · lost
--
-- May run twice: the second time the result is there.
local e = look()
if not e or e.owner ~= owner then return 'lost' end
if not e.done then
  call('HSET', K, 'result', ARGV[2], 'done', stamp, 'exec', '1')
  call('HDEL', K, 'until')
  keep()
end
return 'ok'
