-- Stores answers, all or none. It needs no lease.
--
-- ARGV  [3] nonce of this call, [4] count of answers, then of each the id of its
--       interrupt, "1" when it is JSON, and itself; then blobs
-- Reply ok · gone
--       wrong, then for each answer whether its interrupt is 0 unknown, 1 waiting
--       or 2 answered
--
-- May run twice: the nonces of the newest calls are kept with the thread, also
-- when a commit has ended the superstep in between.
local t = look('nonces', 'waiting')
if not t then return { 'gone' } end
local nonces, nonce = t.nonces or '', ARGV[3]
if string.find(nonces, nonce, 1, true) then return { 'ok' } end
local count = tonumber(ARGV[4])
local states, wrong = { 'wrong' }, false
for i = 1, count do
  local id = ARGV[2 + 3 * i]
  local place = '0'
  if call('HEXISTS', U, 'a:' .. id) == 1 then place = '2' elseif call('HEXISTS', U, 'i:' .. id) == 1 then place = '1' end
  wrong = wrong or place ~= '1' or ARGV[3 + 3 * i] ~= '1'
  states[i + 1] = place
end
if wrong then return states end
blobs(5 + 3 * count)
for i = 1, count do call('HSET', U, 'a:' .. ARGV[2 + 3 * i], stamp .. '\n' .. ARGV[4 + 3 * i]) end
call('HSET', T, 'updated', stamp, 'waiting', str(tonumber(t.waiting) - count), 'nonces', string.sub(nonce .. nonces, 1, 16 * #nonce))
expire(t)
return { 'ok' }
