-- Makes the writes of one finished task durable, with the records that waited.
--
-- ARGV  [5] head the superstep started from, [6] task, [7] its writes, then blobs,
--       then records
-- Reply ok · head, head · those of a lost lease · corrupt
--
-- May run twice: the first writes of a task stay, and records are merged.
local t = look('last')
local no = refused(t)
if no then return no end
if t.head ~= ARGV[5] then return { 'head', t.head } end
local merged, bad = records(9 + 2 * tonumber(ARGV[8]))
if bad then return bad end
blobs(8)
put(t, merged, t.head)
call('HSETNX', U, 'w:' .. ARGV[6], ARGV[7])
wrote(U)
expire(t)
return { 'ok' }
