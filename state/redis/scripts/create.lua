-- Makes a thread with its first checkpoint.
--
-- ARGV  [3] nonce of this creation, [4] text of the head, [5] frame of logs,
--       [6] frame of values or "", [7] count of the thread's fields, then name and
--       value of each, then blobs
-- Reply ok, created (µs) · exists
--
-- May run twice: a thread that holds the nonce is the one this call made.
local made = call('HMGET', T, 'made', 'created')
if made[1] then
  if made[1] == ARGV[3] then return { 'ok', made[2] } end
  return { 'exists' }
end
-- A small hash is searched from its beginning: first what each script reads.
call('HSET', T, 'status', 'pending', 'token', '0', 'until', '0', 'head', '1', 'created', stamp, 'exp', '0',
  'at', stamp, 'write_id', '', 'waiting', '0', 'last', '0', 'under', '0', 'updated', stamp, 'step', '0', 'cancel', '0',
  'base', '1', 'lbase', '1', 'ttl', '0', 'made', ARGV[3])
local fields = tonumber(ARGV[7])
for i = 8, 7 + 2 * fields, 2 do call('HSET', T, ARGV[i], ARGV[i + 1]) end
call('RPUSH', C, '1 ' .. stamp .. '\n' .. ARGV[4])
call('RPUSH', L, ARGV[5])
call('HSET', V, '0', '') -- keeps the key, and its expiry, so that no commit need set one
if ARGV[6] ~= '' then call('HSET', V, '1', ARGV[6]) end
blobs(8 + 2 * fields)
expire({ status = 'pending', till = 0 })
return { 'ok', stamp }
