package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/skein-bot/skein/core/redact"
)

func TestCredentialsAreTakenOut(t *testing.T) {
	t.Parallel()
	r := redact.New()
	for in, want := range map[string]string{
		// B443: a token that is part of a URL.
		"dial error on https://h/bot123:ABC/getMe":                                         "dial error on https://h/bot[redacted]/getMe",
		"123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0":                                    "[redacted]",
		"key sk-ant-api03-abcdefghijklmnop works":                                          "key [redacted] works",
		"ghp_16C7e42F292c6912E7710c838347Ae178B4a":                                         "[redacted]",
		"xoxb-1234567890-abcdefghij":                                                       "[redacted]",
		"AKIAIOSFODNN7EXAMPLE":                                                             "[redacted]",
		"AIzaSyA1234567890abcdefghijklmnopqrstuvw":                                         "[redacted]",
		"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs":                      "[redacted]",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w":                    "[redacted]",
		"Authorization: Bearer abc123def456ghi789":                                         "Authorization: Bearer [redacted]",
		"postgres://skein:hunter22@db/skein":                                               "postgres://skein:[redacted]@db/skein",
		"password=correcthorse next":                                                       "password=[redacted] next",
		`{"api_key": "abcdef123456", "n": 1}`:                                              `{"api_key": "[redacted]", "n": 1}`,
		`{\"client_secret\":\"abcdef123456\"}`:                                             `{\"client_secret\":\"[redacted]\"}`,
		"DISCORD_TOKEN: 'abcdefgh'":                                                        "DISCORD_TOKEN: '[redacted]'",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nafter": "[redacted]\nafter",
		"-----BEGIN PRIVATE KEY-----\nMIIE cut off":                                        "[redacted]",
		// No credentials.
		"tokens: 123456":           "tokens: 123456",
		"maxTokens=100000":         "maxTokens=100000",
		"token: string":            "token: string",
		"password: ${DB_PASSWORD}": "password: ${DB_PASSWORD}",
		"the token is unknown":     "the token is unknown",
		"basic understanding":      "basic understanding",
		"https://example.org/a:b":  "https://example.org/a:b",
		"at 12:30 and 10:45":       "at 12:30 and 10:45",
		"":                         "",
	} {
		got, found := r.Text(in)
		require.Equal(t, want, got, in)
		require.Equal(t, got != in, found, in)
	}
}

// Whatever stands around it, a credential does not come through, and what was
// redacted stays as it is.
func TestNothingAroundACredentialKeepsIt(t *testing.T) {
	t.Parallel()
	r := redact.New()
	secrets := []string{"ghp_16C7e42F292c6912E7710c838347Ae178B4a", "sk-proj-abcdefghijklmnopqrstuv", "xoxb-1234567890-abcdefghij"}
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SampledFrom(secrets).Draw(t, "secret")
		before := rapid.StringMatching(`[ \n"'(=:a-z]{0,20}[ \n"'(=:]`).Draw(t, "before")
		after := rapid.StringMatching(`[ \n"'),;][ a-z]{0,20}`).Draw(t, "after")
		clean, found := r.Text(before + secret + after)
		require.True(t, found)
		require.NotContains(t, clean, secret)
		again, found := r.Text(clean)
		require.Equal(t, clean, again)
		require.False(t, found)
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"password=x", "-----BEGIN PRIVATE KEY-----", "a://b:c@d", "token: token: token: abcdefgh"} {
		f.Add(s)
	}
	r := redact.New()
	f.Fuzz(func(t *testing.T, s string) {
		clean, found := r.Text(s)
		require.Equal(t, clean != s, found)
		require.LessOrEqual(t, len(clean), len(s)+len(redact.Mark)*(1+strings.Count(s, ":")+strings.Count(s, "=")))
	})
}
