-- Stores a large value under its hash.
--
-- ARGV  [5] blobs
-- Reply ok · those of a lost lease
--
-- May run twice: what is stored under a hash stays.
local t = look()
local no = refused(t)
if no then return no end
blobs(5)
expire(t)
return { 'ok' }
