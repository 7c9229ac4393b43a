-- Makes a question durable, or puts it anew; one that is answered stays.
--
-- ARGV  [5] head the superstep started from, [6] id of the interrupt, [7] when it
--       was asked (Unix ns; "-": now), [8] its JSON, then blobs, then records
-- Reply ok · head, head · those of a lost lease · corrupt
--
-- May run twice: only a question that was not there is counted.
local t = look('last')
local no = refused(t)
if no then return no end
if t.head ~= ARGV[5] then return { 'head', t.head } end
local merged, bad = records(10 + 2 * tonumber(ARGV[9]))
if bad then return bad end
blobs(9)
put(t, merged, t.head)
if call('HEXISTS', U, 'a:' .. ARGV[6]) == 0 then
  local asked = ARGV[7]
  if asked == '-' then asked = stamp .. '000' end
  wrote(U)
  if call('HSET', U, 'i:' .. ARGV[6], asked .. '\n' .. ARGV[8]) == 1 then call('HINCRBY', T, 'waiting', 1) end
end
expire(t)
return { 'ok' }
