-- Takes a lease that is free or has ended, and clears the request to stop, which
-- was meant for the holder before.
--
-- ARGV  [3] nonce of this acquisition, [4] owner, [5] time to live, µs
-- Reply ok, token, head · gone · busy, owner, µs that remain
--
-- May run twice: a lease that holds the nonce is this caller's. It is lengthened
-- and keeps its token, and a request to stop that came in between stays.
local t = look('taken', 'owner', 'ttl')
if not t then return { 'gone' } end
local ttl = tonumber(ARGV[5])
if t.taken == ARGV[3] then
  t.till = now + ttl
  call('HSET', T, 'until', str(t.till))
  expire(t)
  return { 'ok', str(t.token), t.head }
end
if live(t) then
  local length = tonumber(t.ttl)
  if t.till - now > length then -- the clock stepped back: the lease lasts its length from now, not the step
    t.till = now + length
    call('HSET', T, 'until', str(t.till))
  end
  return { 'busy', t.owner, str(t.till - now) }
end
-- Above the creation's time too, which a clock that steps back would undercut.
local token = math.max(t.token + 1, now, tonumber(t.created) + 1)
t.till = now + ttl
call('HSET', T, 'token', str(token), 'until', str(t.till), 'ttl', str(ttl), 'owner', ARGV[4], 'taken', ARGV[3], 'cancel', '0')
expire(t)
return { 'ok', str(token), t.head }
