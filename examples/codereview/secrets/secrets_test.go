package secrets_test

import (
	"strings"
	"testing"

	"junction/examples/codereview/reviewer"
	"junction/examples/codereview/secrets"
)

// The credentials are put together here, so that no file of this repository
// holds one.
var (
	awsID    = "AKIA" + "Q4ZT7NPLX3M2VBRC"
	awsKey   = "wJ9rX2tUv7nF" + "EMI/K7MDENG+bPxRfiCYz8Qk3LpA"
	github   = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
	slack    = "xoxb-" + "123456789012-abcDEFghiJKLmnoPQR"
	header   = "-----BEGIN RSA " + "PRIVATE KEY-----"
	password = "hV7" + "kP2xQ9zLm4"
	random   = "q7Rw9Z" + "bT3xKc8Vn2LmP5sYd1"
)

func review(t *testing.T, code string) reviewer.Review {
	t.Helper()
	r, err := secrets.New().Review(t.Context(), reviewer.Request{Code: code, Context: reviewer.Context{Path: "f.env"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCredentialsAreFoundAtTheirPlaceAndMasked(t *testing.T) {
	tests := []struct {
		name, line, rule, secret string
		severity                 reviewer.Severity
	}{
		{"AWS access key id", `key = "` + awsID + `"`, "aws-access-key", awsID, reviewer.High},
		{"AWS secret key", `aws_secret_access_key=` + awsKey, "aws-secret-key", awsKey, reviewer.High},
		{"GitHub token", "GITHUB_TOKEN=" + github, "github-token", github, reviewer.High},
		{"Slack token", "slack: " + slack, "slack-token", slack, reviewer.High},
		{"private key", header, "private-key", header, reviewer.High},
		{"password in a URL", "postgres://app:" + password + "@db.internal/x", "url-password", password, reviewer.Medium},
		{"random assignment", `api_key: "` + random + `"`, "high-entropy-assignment", random, reviewer.Medium},
		{"random in JSON", `{"token": "` + random + `"}`, "high-entropy-assignment", random, reviewer.Medium},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := review(t, "first line\r\n\n"+tt.line+"\n")
			if len(r.Issues) != 1 {
				t.Fatalf("issues %+v, want one", r.Issues)
			}
			f := r.Issues[0]
			if f.Line != 3 || f.Column != strings.Index(tt.line, tt.secret)+1 || f.Rule != tt.rule || f.Severity != tt.severity {
				t.Errorf("finding %+v", f)
			}
			if strings.Contains(f.Message, tt.secret) || !strings.Contains(f.Message, tt.secret[:4]+"****") {
				t.Errorf("message %q does not mask the secret", f.Message)
			}
			if r.SeveritySummary[tt.severity] != 1 || len(r.Suggestions) != 1 {
				t.Errorf("review %+v", r)
			}
		})
	}
}

func TestWhatOnlyLooksLikeACredentialIsLeftAlone(t *testing.T) {
	for name, line := range map[string]string{
		"documentation's AWS key": "AKIAIOSFODNN7" + "EXAMPLE",
		"filler token":            "ghp_" + strings.Repeat("x", 36),
		"variable":                `password := os.Getenv("DATABASE_PASSWORD_FROM_ENV")`,
		"URL from variables":      "redis://user:${REDIS_PASSWORD}@host:6379",
		"identifier":              `tokenKind = "identifier_followed_by_colon"`,
		"checksum":                "h1:" + awsKey + "AB=",
		"prose":                   "-----BEGIN is how a PRIVATE KEY starts",
		"part of a word":          "X" + awsID,
		"certificate":             "-----BEGIN CERTIFICATE-----",
	} {
		t.Run(name, func(t *testing.T) {
			if r := review(t, line); len(r.Issues) != 0 {
				t.Errorf("%q gave %+v", line, r.Issues)
			}
		})
	}
}

func TestALongLineIsReadWhole(t *testing.T) {
	r := review(t, strings.Repeat("a ", 300_000)+awsID)
	if len(r.Issues) != 1 || r.Issues[0].Column != 600_001 {
		t.Errorf("issues %+v", r.Issues)
	}
}

func FuzzReviewNeverShowsWhatItFound(f *testing.F) {
	f.Add("token = '" + random + "'")
	f.Add(awsID + " " + github)
	f.Fuzz(func(t *testing.T, code string) {
		r, err := secrets.New().Review(t.Context(), reviewer.Request{Code: code})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range r.Issues {
			if i.Line < 1 || i.Column < 1 {
				t.Errorf("no place: %+v", i)
			}
			if _, shown, ok := strings.Cut(i.Message, "file: "); !ok || len([]rune(shown)) > 8 {
				t.Errorf("message %q", i.Message)
			}
		}
	})
}
