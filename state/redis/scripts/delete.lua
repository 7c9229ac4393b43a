-- Removes a thread.
--
-- ARGV  [1] when the thread that is meant was created, µs, [2] when it was last
--       updated, "": whenever
-- Reply ok · busy, owner, µs that remain · changed: it was updated since · gone,
--       also when a thread of the same id was made since
--
-- May run twice: the second time the thread is gone.
local t = look('owner', 'ttl', 'updated')
if not t or t.created ~= ARGV[1] then return { 'gone' } end
if live(t) then return { 'busy', t.owner, str(math.min(t.till - now, tonumber(t.ttl))) } end
if ARGV[2] ~= '' and t.updated ~= ARGV[2] then return { 'changed' } end
call('UNLINK', unpack(KEYS))
return { 'ok' }
