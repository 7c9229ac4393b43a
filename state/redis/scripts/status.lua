-- Records a stop without advancing the head, or that work begins again. Either
-- deals with a request to stop that the acquisition cleared.
--
-- ARGV  [5] status, [6] failure or "", then blobs, then records
-- Reply ok · those of a lost lease · corrupt
--
-- May run twice: it writes the same again, and a completed thread stays so.
local t = look('last', 'cancel')
local no = refused(t)
if no then return no end
local merged, bad = records(8 + 2 * tonumber(ARGV[7]))
if bad then return bad end
blobs(7)
put(t, merged, t.head)
if t.status == 'completed' then
  expire(t)
  return { 'ok' }
end
t.status = ARGV[5]
call('HSET', T, 'status', t.status, 'failure', ARGV[6], 'updated', stamp)
if t.cancel == '2' then call('HSET', T, 'cancel', '0') end
expire(t)
return { 'ok' }
