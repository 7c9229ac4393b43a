package mcp

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"junction/router"
)

const (
	// maxMetadata bounds one metadata document.
	maxMetadata = 256 << 10
	// metadataWithin bounds one exchange with whoever tells or issues.
	metadataWithin = 10 * time.Second
)

// library fetches the documents that say how a server's tokens are obtained. It
// carries no credential, follows no redirect and keeps no connection.
type library struct {
	site        *url.URL
	own, others *http.Client // to the server's origin, with its certificate; elsewhere
}

func newLibrary(site *url.URL, d *router.Dial) *library {
	l := &library{site: site, others: plainClient(nil)}
	l.own = l.others
	if site != nil {
		if config, err := certified(site, d); err == nil && config != nil { // else the link says what is wrong
			l.own = plainClient(config)
		}
	}
	return l
}

func plainClient(config *tls.Config) *http.Client {
	dialer := &net.Dialer{Timeout: metadataWithin, Control: refuseLinkLocal}
	return &http.Client{
		Timeout:       metadataWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSClientConfig: config,
			ForceAttemptHTTP2: true, DisableKeepAlives: true,
			TLSHandshakeTimeout: metadataWithin, MaxResponseHeaderBytes: maxMetadata,
		},
	}
}

func (l *library) client(u *url.URL) *http.Client {
	if sameOrigin(u, l.site) {
		return l.own
	}
	return l.others
}

// resource is protected-resource metadata (RFC 9728).
type resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// resource reads the server's metadata from where the challenge says, else from
// the well-known places with and without the path of its URL. What is at another
// origin, or about another resource, is refused.
func (l *library) resource(ctx context.Context, said string) (*resource, error) {
	places := []string{said}
	if said == "" {
		places = wellKnown(l.site, "oauth-protected-resource", "")
	}
	var r resource
	if _, err := l.first(ctx, places, l.site, &r); err != nil {
		return nil, fmt.Errorf("protected-resource metadata: %w", err)
	}
	u, err := url.Parse(r.Resource)
	if err != nil || !sameOrigin(u, l.site) || !within(u.Path, l.site.Path) {
		return nil, fmt.Errorf("protected-resource metadata: it is about %s, which is not this server", quote(r.Resource))
	}
	return &r, nil
}

// issuerData is authorization-server metadata (RFC 8414), or OpenID's.
type issuerData struct {
	Issuer   string   `json:"issuer"`
	Token    string   `json:"token_endpoint"`
	Grants   []string `json:"grant_types_supported"`
	Methods  []string `json:"token_endpoint_auth_methods_supported"`
	Signings []string `json:"token_endpoint_auth_signing_alg_values_supported"`

	skew time.Duration // its clock ahead of ours
}

// issuer reads the metadata of an authorization server. The name in it must be
// the very one it was asked for (RFC 8414, 3.3), and tokens are asked for at its
// own origin or the resource's.
func (l *library) issuer(ctx context.Context, name string) (*issuerData, error) {
	u, err := url.Parse(name)
	if err != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("the issuer %s is no URL without a query", quote(name))
	}
	if err := trusted(u, u); err != nil {
		return nil, fmt.Errorf("the issuer %s: %w", quote(name), err)
	}
	var data issuerData
	places := wellKnown(u, "oauth-authorization-server", "openid-configuration")
	if data.skew, err = l.first(ctx, places, u, &data); err != nil {
		return nil, fmt.Errorf("metadata of the issuer %s: %w", quote(name), err)
	}
	if data.Issuer != name {
		return nil, fmt.Errorf("metadata of the issuer %s names another issuer, %s", quote(name), quote(data.Issuer))
	}
	token, err := url.Parse(data.Token)
	if err != nil || data.Token == "" {
		return nil, fmt.Errorf("metadata of the issuer %s names no token endpoint", quote(name))
	}
	if err := trusted(token, u, l.site); err != nil {
		return nil, fmt.Errorf("the token endpoint of the issuer %s: %w", quote(name), err)
	}
	return &data, nil
}

// wellKnown lists where metadata about u may be: the suffix goes between host and
// path (RFC 8414, 3.1), and OpenID's after the path as well.
func wellKnown(u *url.URL, suffix, openID string) []string {
	root := u.Scheme + "://" + u.Host
	path := strings.TrimRight(u.EscapedPath(), "/")
	const where = "/.well-known/"
	all := []string{root + where + suffix + path}
	switch {
	case openID != "":
		all = append(all, root+where+openID+path, root+path+where+openID)
	case path != "":
		all = append(all, root+where+suffix)
	}
	return slices.Compact(all)
}

// first reads the first of the places that has a document, and how far its
// server's clock is ahead. A place that may not be asked ends the search.
func (l *library) first(ctx context.Context, places []string, origin *url.URL, into any) (time.Duration, error) {
	missing := errors.New("there is none")
	for _, place := range places {
		u, err := url.Parse(place)
		if err != nil {
			return 0, fmt.Errorf("%s is no URL", quote(place))
		}
		if err := trusted(u, origin); err != nil {
			return 0, fmt.Errorf("%s: %w", quote(place), err)
		}
		skew, found, err := l.read(ctx, u, into)
		if found || err != nil {
			return skew, err
		}
	}
	return 0, missing
}

func (l *library) read(ctx context.Context, u *url.URL, into any) (skew time.Duration, found bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, false, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := l.client(u).Do(req)
	if err != nil {
		return 0, false, outage{bare(err)}
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) //nolint:errcheck // then it is none of ours
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return 0, false, outage{fmt.Errorf("HTTP status %d", resp.StatusCode)}
	case resp.StatusCode != http.StatusOK || media != "application/json":
		return 0, false, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata+1))
	switch {
	case err != nil:
		return 0, false, outage{bare(err)}
	case len(body) > maxMetadata:
		return 0, false, errTooLarge
	}
	if err := json.Unmarshal(body, into); err != nil {
		return 0, false, errors.New("it is no JSON of that kind")
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		skew = time.Until(at).Round(time.Second)
	}
	return skew, true, nil
}

// outage is a failure that may pass by itself.
type outage struct{ error }

func (o outage) Unwrap() error { return o.error }

// bare is err without the URL.
func bare(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return ue.Err
	}
	return err
}
