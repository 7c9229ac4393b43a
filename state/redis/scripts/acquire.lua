-- Takes a lease that is free or has ended, and clears the request to stop, which
-- was meant for the holder before: the field cancel becomes 2, and says so to the
-- next acquisition too, until a status is recorded.
--
-- ARGV  [3] nonce of this acquisition, [4] owner, [5] time to live, µs
-- Reply ok, token, head, "1": a request was cleared that nobody has dealt with
--       gone · busy, owner, µs that remain
--
-- May run twice: a lease that holds the nonce is this caller's. It is lengthened
-- and keeps its token, and a request to stop that came in between stays. One that
-- is released already is not: its holder had the reply, this is a copy that the
-- network kept back.
local t = look('taken', 'owner', 'ttl', 'cancel')
if not t then return { 'gone' } end
local ttl = tonumber(ARGV[5])
if t.taken == ARGV[3] then
  if t.till == 0 then return { 'busy', t.owner, '0' } end
  t.till = now + ttl
  call('HSET', T, 'until', str(t.till))
  expire(t)
  return { 'ok', str(t.token), t.head, t.cancel == '2' and '1' or '0' }
end
if live(t) then
  shorten(t)
  return { 'busy', t.owner, str(t.till - now) }
end
-- Above the creation's time too, which a clock that steps back would undercut.
local token = math.max(t.token + 1, now, tonumber(t.created) + 1)
local asked = t.cancel ~= '0'
t.till = now + ttl
call('HSET', T, 'token', str(token), 'until', str(t.till), 'ttl', str(ttl), 'owner', ARGV[4], 'taken', ARGV[3],
  'cancel', asked and '2' or '0')
expire(t)
return { 'ok', str(token), t.head, asked and '1' or '0' }
