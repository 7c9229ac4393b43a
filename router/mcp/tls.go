package mcp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"junction/router"
)

// maxAuthorities bounds what is read of a file of certificates.
const maxAuthorities = 4 << 20

// certified says whose certificate the server at u must show; nil: one for the
// URL's host that the system trusts. The file is read for each new connection,
// so that a renewed one is noticed. A name or authorities that http:// cannot
// check are refused rather than dropped: headers may depend on them.
func certified(u *url.URL, d *router.Dial) (*tls.Config, error) {
	if d.ServerName == "" && d.CAFile == "" {
		return nil, nil
	}
	if u.Scheme != "https" {
		what := "a certificate for " + quote(d.ServerName)
		if d.ServerName == "" {
			what = "a certificate signed as " + quote(d.CAFile) + " says"
		}
		return nil, errors.New("it has to show " + what + ", and its url begins with http://, where there is none: give it a url that begins with https://")
	}
	c := &tls.Config{ServerName: d.ServerName, MinVersion: tls.VersionTLS12}
	if d.CAFile == "" {
		return c, nil
	}
	pem, err := readAuthorities(d.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read who signs the server's certificate: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("the file " + quote(d.CAFile) + " holds no certificate in PEM (it begins with -----BEGIN CERTIFICATE-----)")
	}
	return c, nil
}

func readAuthorities(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxAuthorities))
}
