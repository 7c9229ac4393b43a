package mcp

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// proof is a client assertion (RFC 7523), dated by the issuer's clock.
func (g *grant) proof(now time.Time) (string, error) {
	method, key, err := signer(g.client.KeyFile)
	if err != nil {
		return "", err
	}
	if len(g.from.Signings) > 0 && !slices.Contains(g.from.Signings, method.Alg()) {
		return "", fmt.Errorf("the key signs with %s; the issuer takes %s", method.Alg(), excerpt(strings.Join(g.from.Signings, ", ")))
	}
	now = now.Add(g.from.skew)
	return jwt.NewWithClaims(method, jwt.RegisteredClaims{
		Issuer: g.client.ClientID, Subject: g.client.ClientID, Audience: jwt.ClaimStrings{g.from.Issuer},
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(assertionLasts)), ID: rand.Text(),
	}).SignedString(key)
}

// signer reads a private key: PKCS #8, or the older forms of RSA and EC keys.
func signer(path string) (jwt.SigningMethod, any, error) {
	data, err := readBounded(path, maxKeyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("the client's key cannot be read: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, nil, fmt.Errorf("the file %s holds no private key in PEM", quote(path))
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if ec, ecErr := x509.ParseECPrivateKey(block.Bytes); ecErr == nil {
			key = ec
		} else if rs, rsErr := x509.ParsePKCS1PrivateKey(block.Bytes); rsErr == nil {
			key = rs
		}
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return jwt.SigningMethodRS256, k, nil
	case *ecdsa.PrivateKey:
		if k.Curve.Params().BitSize == 256 {
			return jwt.SigningMethodES256, k, nil
		}
	}
	return nil, nil, fmt.Errorf("the file %s holds no private key of RSA or of the curve P-256", quote(path))
}
