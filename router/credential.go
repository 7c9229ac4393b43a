package router

import "fmt"

// String names the scheme and nothing that is secret, so that a server that gets
// into a log gives nothing away.
func (c Credential) String() string { return "credential of scheme " + c.Scheme }

// GoString is String, for %#v.
func (c Credential) GoString() string { return c.String() }

// String names the client and its issuer.
func (c OAuthClient) String() string {
	return fmt.Sprintf("client %s of the issuer %q", c.ClientID, c.Issuer)
}

// GoString is String, for %#v.
func (c OAuthClient) GoString() string { return c.String() }
