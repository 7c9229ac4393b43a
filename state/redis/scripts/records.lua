-- Upserts call records.
--
-- ARGV  [5] blobs, then records
-- Reply ok · those of a lost lease · corrupt
--
-- May run twice: records are merged.
local t = look('last')
local no = refused(t)
if no then return no end
local merged, bad = records(6 + 2 * tonumber(ARGV[5]))
if bad then return bad end
blobs(5)
put(t, merged, t.head)
expire(t)
return { 'ok' }
