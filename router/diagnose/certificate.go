package diagnose

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// expiresSoon is when a certificate that is still good is warned of.
const expiresSoon = 14 * 24 * time.Hour

// certificate judges how the server proves who it is. It reports whether a
// credential may be shown to it.
func (p *patient) certificate() bool {
	l := p.layer(Session)
	if p.url.Scheme != "https" {
		return true
	}
	hand := p.hello.discover.tls
	if hand == nil || len(hand.state.PeerCertificates) == 0 {
		l.add(failed("the server shows no certificate", "have it show one for "+quoted(p.host())))
		return false
	}
	leaf := hand.state.PeerCertificates[0]
	if err := p.verify(&hand.state); err != nil {
		l.add(p.untrustworthy(leaf, hand.state.PeerCertificates, err))
		return false
	}
	if left := time.Until(leaf.NotAfter); left < expiresSoon {
		l.add(warned(fmt.Sprintf("its certificate expires in %s, on %s", ago(left), leaf.NotAfter.Format(time.DateOnly)),
			"renew it now: all calls fail from then on"))
	}
	if v := hand.state.Version; v < tls.VersionTLS12 {
		l.add(failed(tls.VersionName(v)+" is all that it speaks, which is refused", "have it, or the proxy in front, speak TLS 1.3"))
		return false
	} else if v < tls.VersionTLS13 {
		l.add(warned("it speaks "+tls.VersionName(v)+" only", "have it, or the proxy in front, speak TLS 1.3 too; in nginx: ssl_protocols TLSv1.2 TLSv1.3;"))
	}
	return true
}

// host is the name that the certificate must be for.
func (p *patient) host() string {
	if c := p.courier.Certificate(); c != nil && c.ServerName != "" {
		return c.ServerName
	}
	return p.url.Hostname()
}

// verify is what the client of package mcp does when it connects.
func (p *patient) verify(state *tls.ConnectionState) error {
	o := x509.VerifyOptions{DNSName: p.host(), Intermediates: x509.NewCertPool()}
	if c := p.courier.Certificate(); c != nil {
		o.Roots = c.RootCAs
	}
	for _, c := range state.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(o)
	return err
}

func (p *patient) untrustworthy(leaf *x509.Certificate, chain []*x509.Certificate, err error) Trouble {
	now := time.Now()
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	_, otherName := errors.AsType[x509.HostnameError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	ownFile := "ca: PATH    # PEM of who signs its certificate"
	switch {
	case now.After(leaf.NotAfter):
		return failed(fmt.Sprintf("its certificate expired %s ago, on %s", ago(now.Sub(leaf.NotAfter)), leaf.NotAfter.Format(time.DateOnly)),
			"renew it, and have the server read the new one; if it was renewed, the server still holds the old one: restart it")
	case now.Before(leaf.NotBefore):
		return failed("its certificate is not valid before "+leaf.NotBefore.Format(time.RFC3339), "compare the clocks of both machines")
	case otherName:
		return failed(fmt.Sprintf("its certificate is for %s, and not for %s", namesOf(leaf), quoted(p.host())),
			"use a name that is in it, or say which one it is for").paste(p.lines("server_name: " + firstName(leaf)))
	case unknown && selfSigned(leaf):
		return failed("its certificate is signed by itself, and so proves nothing", "give it one of an authority, or trust this very one: save it as a file and name it").paste(p.lines(ownFile))
	case unknown && p.courier.Certificate() != nil && p.courier.Certificate().RootCAs != nil:
		return failed("its certificate is signed by "+issuerOf(chain[len(chain)-1])+", which is not in the file of its authorities", "name the file of that authority in the servers file").paste(p.lines(ownFile))
	case unknown:
		return failed("its certificate is signed by "+issuerOf(chain[len(chain)-1])+", which this machine does not know: an authority of your own, or an intermediate certificate that the server leaves out",
			"name the authority's file; or have the server send its whole chain").paste(p.lines(ownFile))
	case isInvalid && invalid.Reason == x509.IncompatibleUsage:
		return failed("its certificate is not one for servers", "have one issued for the use of servers (serverAuth)")
	}
	return failed("its certificate is not accepted: "+clean(err.Error()), "give it one that is valid for "+quoted(p.host()))
}

func selfSigned(c *x509.Certificate) bool {
	return string(c.RawIssuer) == string(c.RawSubject)
}

func issuerOf(c *x509.Certificate) string { return quoted(c.Issuer.String()) }

// namesOf are the names that a certificate is for.
func namesOf(c *x509.Certificate) string {
	all := c.DNSNames
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "no name"
	}
	return clean(some(all))
}

func firstName(c *x509.Certificate) string {
	if len(c.DNSNames) > 0 {
		return clean(strings.Replace(c.DNSNames[0], "*", "NAME", 1))
	}
	return "NAME"
}

// secured is what was seen of TLS, for people.
func (p *patient) secured() string {
	if p.url.Scheme != "https" {
		return "no TLS"
	}
	state := p.hello.discover.tls.state
	leaf := state.PeerCertificates[0]
	return fmt.Sprintf("%s, certificate for %s, %s left", tls.VersionName(state.Version), namesOf(leaf), ago(time.Until(leaf.NotAfter)))
}

// noTLS is about a handshake that fails before a certificate can be judged.
func (p *patient) noTLS(err error) {
	for _, n := range []int{Endpoint, Document, Authentication} {
		p.layer(n).skip(NotReached, "no TLS connection: layer %d", Session)
	}
	text := clean(err.Error())
	l := p.layer(Session)
	l.TookMS = millis(p.hello.discover.took)
	switch {
	case strings.Contains(text, "protocol version"):
		l.add(failed("it speaks no version of TLS that is spoken here: "+text, "have it speak TLS 1.3"))
	case strings.Contains(text, "certificate required"), strings.Contains(text, "bad certificate"):
		l.add(failed("it wants a certificate of its client: "+text, "certificates of clients are not supported: put a proxy between that shows one, or have the server take a token"))
	default:
		l.add(failed("the TLS handshake fails: "+text, "see to the TLS settings of the server, or of the proxy in front"))
	}
}

// untrusted says what can be said without a credential, of a server whose
// certificate is not good.
func (p *patient) untrusted() {
	why := fmt.Sprintf("its certificate is not good: layer %d", Session)
	l := p.layer(Session)
	l.TookMS = millis(p.hello.discover.took)
	g := p.hello
	if g.ok {
		p.layer(Document).pass(g.last.took, "%s, MCP %s; its tools are not asked for over this connection", p.named(g), clean(g.version))
	}
	if !g.last.refuses() && len(p.held()) == 0 {
		p.layer(Authentication).pass(0, "none is asked for")
	}
	p.layer(Document).skip(NotReached, "%s", why)
	p.layer(Authentication).skip(NotReached, "no credential is shown: %s", why)
	p.layer(ContextHash).skip(NotReached, "%s", why)
	p.layer(Middleboxes).skip(NotReached, "%s", why)
}
