package secrets

import (
	"regexp"

	"junction/examples/codereview/reviewer"
)

// rule recognises one kind of credential. Where the pattern has a group, the
// first group is the secret.
type rule struct {
	name     string
	what     string
	severity reviewer.Severity
	pattern  *regexp.Regexp
	// check refuses matches that only look like a secret; nil: all count.
	check func(secret string) bool
}

// rules are tried in order; the first that matches a place wins it.
var rules = []rule{
	{
		name: "aws-access-key", what: "an AWS access key id", severity: reviewer.High,
		pattern: regexp.MustCompile(`\b((?:AKIA|ASIA)[A-Z2-7]{16})\b`),
		check:   notExample,
	},
	{
		name: "aws-secret-key", what: "an AWS secret access key", severity: reviewer.High,
		pattern: regexp.MustCompile(`(?i)aws.{0,20}secret.{0,20}?["'=:\s]\s*["']?([A-Za-z0-9/+]{40})\b`),
		check:   func(s string) bool { return notExample(s) && entropy(s) > 4 },
	},
	{
		name: "github-token", what: "a GitHub token", severity: reviewer.High,
		pattern: regexp.MustCompile(`\b((?:gh[pousr]_[A-Za-z0-9]{36,})|(?:github_pat_[A-Za-z0-9_]{50,}))\b`),
		check:   varied,
	},
	{
		name: "gitlab-token", what: "a GitLab token", severity: reviewer.High,
		pattern: regexp.MustCompile(`\b(glpat-[A-Za-z0-9_-]{20,})\b`),
		check:   varied,
	},
	{
		name: "slack-token", what: "a Slack token", severity: reviewer.High,
		pattern: regexp.MustCompile(`\b(xox[abeoprs]-[A-Za-z0-9-]{20,})\b`),
		check:   varied,
	},
	{
		name: "stripe-key", what: "a live Stripe key", severity: reviewer.High,
		pattern: regexp.MustCompile(`\b((?:sk|rk)_live_[A-Za-z0-9]{20,})\b`),
		check:   varied,
	},
	{
		name: "google-api-key", what: "a Google API key", severity: reviewer.High,
		pattern: regexp.MustCompile(`\b(AIza[A-Za-z0-9_-]{35})\b`),
		check:   varied,
	},
	{
		name: "npm-token", what: "an npm token", severity: reviewer.High,
		pattern: regexp.MustCompile(`\b(npm_[A-Za-z0-9]{36})\b`),
		check:   varied,
	},
	{
		name: "anthropic-or-openai-key", what: "a model provider's key", severity: reviewer.High,
		pattern: regexp.MustCompile(`\b(sk-(?:ant-|proj-)?[A-Za-z0-9_-]{40,})\b`),
		check:   varied,
	},
	{
		name: "private-key", what: "a private key", severity: reviewer.High,
		pattern: regexp.MustCompile(`(-----BEGIN (?:[A-Z]+ )?PRIVATE KEY(?: BLOCK)?-----)\s*$`),
	},
	{
		name: "url-password", what: "a password in a URL", severity: reviewer.Medium,
		pattern: regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s:/@"'<>{}$]+:([^\s:/@"'<>{}$%]{6,})@[a-z0-9.-]*[a-z0-9]`),
		check:   func(s string) bool { return !placeholder(s) && entropy(s) > 2.5 },
	},
	{
		name: "high-entropy-assignment", what: "what looks like a secret", severity: reviewer.Medium,
		pattern: regexp.MustCompile(`(?i)(?:secret|token|passwd|password|api_?key|private_?key|credential)[a-z0-9_]*["']?\s*(?::=|=>|=|:)\s*["']([A-Za-z0-9+/_=.\-]{20,})["']`),
		check:   func(s string) bool { return !placeholder(s) && entropy(s) > 4 && mixed(s) },
	},
}
