-- Reads all call records of a thread, with the results of the superstep under way.
--
-- KEYS  the eight keys of the thread, in the order of keys.go; without the preamble
-- Reply ok, [field, value, …] of the records, [field, result, …] · gone
--
-- May run twice: it writes nothing.
if redis.call('EXISTS', KEYS[1]) == 0 then return { 'gone' } end
local results, underway = {}, redis.call('HGETALL', KEYS[5])
for i = 1, #underway, 2 do
  if string.sub(underway[i], 1, 2) == 'r:' and underway[i + 1] ~= '' then
    results[#results + 1] = string.sub(underway[i], 3)
    results[#results + 1] = underway[i + 1]
  end
end
return { 'ok', redis.call('HGETALL', KEYS[6]), results }
