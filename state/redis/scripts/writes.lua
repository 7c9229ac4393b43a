-- Makes the writes of finished tasks durable, with the records that waited.
--
-- ARGV  [5] head the superstep started from, [6] count of tasks, then each and its
--       writes, then blobs, then records
-- Reply ok · head, head · those of a lost lease · corrupt
--
-- May run twice: the first writes of a task stay, and records are merged.
local t = look('last')
local no = refused(t)
if no then return no end
if t.head ~= ARGV[5] then return { 'head', t.head } end
local after = 7 + 2 * tonumber(ARGV[6])
local merged, bad = records(after + 1 + 2 * tonumber(ARGV[after]))
if bad then return bad end
blobs(after)
put(t, merged, t.head)
for i = 7, after - 1, 2 do call('HSETNX', U, 'w:' .. ARGV[i], ARGV[i + 1]) end
wrote(U)
expire(t)
return { 'ok' }
