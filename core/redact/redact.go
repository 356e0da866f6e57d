// Package redact takes credentials out of text: keys of known services, tokens
// in URLs and headers, private keys, values that stand beside a name such as
// "password". It errs on the side of taking out too much.
//
// The session tools pass everything they show through it, whatever the log does.
package redact

import (
	"regexp"
	"slices"
	"strings"
)

// Mark stands where a credential was.
const Mark = "[redacted]"

// pattern is a form of credential.
type pattern struct {
	// hints are texts, in lower case, of which a text has one that has such a
	// credential: looking for them is many times faster than for re. None: always.
	hints []string
	re    *regexp.Regexp
	// with is the replacement, in the notation of regexp.Expand: the group "keep"
	// stays.
	with string
	// secret tells, of the group "value", whether it is one; nil: it is.
	secret func(value string) bool
}

func patterns() []pattern {
	const kept = "${keep}" + Mark
	named := []string{"key", "secret", "token", "passw", "passphrase", "pwd", "credential", "authorization", "cookie"}
	all := func(re string, hints ...string) pattern { return pattern{hints, regexp.MustCompile(re), Mark, nil} }
	return []pattern{
		all(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----[\s\S]*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)`, "private key"),
		{[]string{"://"}, regexp.MustCompile(`(?P<keep>://[^\s/:@]*:)[^\s/@]+@`), kept + "@", nil},
		{[]string{"/bot"}, regexp.MustCompile(`(?P<keep>/bot)\d{3,}:[A-Za-z0-9_-]+`), kept, nil},
		all(`\b\d{6,12}:[A-Za-z0-9_-]{30,}`, ":"),
		all(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, "eyj"),
		all(`\b[spr]k[-_][A-Za-z0-9_-]{16,}`, "sk-", "pk-", "rk-", "sk_", "pk_", "rk_"),
		all(`\b(gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})`, "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-"),
		all(`\b(xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})`, "xox", "xapp-"),
		all(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`, "akia", "asia"),
		all(`\b(AIza[0-9A-Za-z_-]{35,}|ya29\.[0-9A-Za-z_-]{20,})`, "aiza", "ya29."),
		all(`\b(hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{20,}|SG\.[A-Za-z0-9_.-]{20,}|dop_v1_[a-f0-9]{20,})`, "hf_", "npm_", "pypi-", "sg.", "dop_v1_"),
		all(`\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}`, "."),
		{[]string{"bearer", "basic", "bot", "token"}, regexp.MustCompile(`(?i)(?P<keep>\b(bearer|basic|bot|token)\s+)(?P<value>[A-Za-z0-9._~+/=-]{16,})`), kept, mixed},
		{
			named, regexp.MustCompile(`(?i)(?P<keep>(api[_-]?key|access[_-]?key|private[_-]?key|secret|token|passw(or)?d|passphrase|pwd|credentials?|authorization|cookie)` +
				`[\w.-]*\\?["']?\s*(:|=|=>)\s*\\?["']?)(?P<value>[^\s"'\\,;)}\]]{6,})`), kept, value,
		},
	}
}

// Redactor takes credentials out of text. Make it with New; it is safe for
// concurrent use.
type Redactor struct{ patterns []pattern }

// New returns a redactor.
func New() *Redactor { return &Redactor{patterns()} }

// Text returns s with Mark in the place of each credential, and whether there
// was one. What it returned has none.
func (r *Redactor) Text(s string) (clean string, found bool) {
	clean = s
	lower := strings.ToLower(s)
	for _, p := range r.patterns {
		if p.hints == nil || slices.ContainsFunc(p.hints, func(h string) bool { return strings.Contains(lower, h) }) {
			clean = p.replace(clean)
		}
	}
	return clean, clean != s
}

func (p pattern) replace(s string) string {
	if p.secret == nil {
		return p.re.ReplaceAllString(s, p.with)
	}
	at := p.re.SubexpIndex("value")
	var b strings.Builder
	done := 0
	for _, m := range p.re.FindAllStringSubmatchIndex(s, -1) {
		if !p.secret(s[m[2*at]:m[2*at+1]]) {
			continue
		}
		b.WriteString(s[done:m[0]])
		b.Write(p.re.ExpandString(nil, p.with, s, m))
		done = m[1]
	}
	b.WriteString(s[done:])
	return b.String()
}

// mixed tells a token from a word that follows "bearer" or "basic".
func mixed(v string) bool { return strings.ContainsAny(v, "0123456789") }

// value tells a secret from what code and figures have beside such names.
func value(v string) bool {
	if strings.HasPrefix(v, "[redacted") || strings.HasPrefix(v, "$") || strings.HasPrefix(v, "<") {
		return false
	}
	switch strings.ToLower(v) {
	case "string", "number", "boolean", "object", "undefined", "required", "optional", "missing", "unknown", "bearer":
		return false
	}
	return strings.Trim(v, "0123456789.,_kKmM%") != ""
}
