package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/skein-bot/skein/config/json5"
)

// secretMask is all that is ever printed of a secret.
const secretMask = "***"

// Secret is a credential or a reference to one. No way of printing, logging or
// encoding it shows the value: only Reveal does. In a file it is written
//
//	"$NAME" or "${NAME}"           the environment variable NAME
//	{source: "env", id: "NAME"}    the same
//	{source: "file", id: "PATH"}   the content of a file, without the last line break
//	{source: "exec", id: "PROGRAM"} what a program prints, without the last line
//	                               break; words after its name are its arguments
//	"text"                         the value itself; text may hold ${NAME}, and a
//	                               leading $$ stands for $
//
// The zero Secret is absent. A reference has no value before
// [Config.ResolveSecrets].
type Secret struct {
	// A pointer to a pointer: under some verbs fmt follows a plain one even
	// where it stands in an unexported field and no method can mask it.
	payload **secretPayload
}

func newSecret(p secretPayload) Secret {
	pointer := &p
	return Secret{&pointer}
}

// content returns what the secret refers to, or nil if it is absent.
func (s Secret) content() *secretPayload {
	if s.payload == nil {
		return nil
	}
	return *s.payload
}

type secretPayload struct {
	source   SecretSource
	id       string // name, path, program, text
	pos      json5.Pos
	value    string
	resolved bool
}

// SecretSource says where the value of a secret comes from.
type SecretSource string

// The sources of secrets.
const (
	SecretLiteral  SecretSource = "literal"  // it stands in the file
	SecretEnv      SecretSource = "env"      // an environment variable
	SecretFile     SecretSource = "file"     // a file
	SecretExec     SecretSource = "exec"     // a program
	SecretTemplate SecretSource = "template" // a text with ${NAME} in it
)

// NewSecret returns a secret with a value, for configurations made in code.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return newSecret(secretPayload{source: SecretLiteral, id: value, value: value, resolved: true})
}

// EnvSecret returns a reference to an environment variable.
func EnvSecret(name string) Secret {
	return newSecret(secretPayload{source: SecretEnv, id: name})
}

// IsZero says whether the secret is absent.
func (s Secret) IsZero() bool { return s.payload == nil }

// IsResolved says whether Reveal has something to return.
func (s Secret) IsResolved() bool { return s.payload != nil && s.content().resolved }

// Reveal returns the value, or "" if the secret is absent or not resolved. The
// result must go nowhere but to whom it authenticates.
func (s Secret) Reveal() string {
	if s.payload == nil {
		return ""
	}
	return s.content().value
}

// Source says where the value comes from; "" if the secret is absent.
func (s Secret) Source() SecretSource {
	if s.payload == nil {
		return ""
	}
	return s.content().source
}

// Origin describes the source for a person, such as "env TELEGRAM_BOT_TOKEN".
// It never holds a value.
func (s Secret) Origin() string {
	switch s.Source() {
	case "":
		return "unset"
	case SecretLiteral:
		return "literal in the file"
	case SecretTemplate:
		return "text with variables"
	}
	return string(s.Source()) + " " + s.content().id
}

// equal says whether both hold the same reference and the same value.
func (s Secret) equal(other Secret) bool {
	if s.payload == nil || other.payload == nil {
		return s.payload == other.payload
	}
	a, b := s.content(), other.content()
	return a.source == b.source && a.id == b.id && a.value == b.value
}

// String returns a mask, or "" if the secret is absent.
func (s Secret) String() string {
	if s.payload == nil {
		return ""
	}
	return secretMask
}

// Format prints a mask under every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue returns a mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns a mask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON returns the reference, or a mask where the value itself stands in
// the file.
func (s Secret) MarshalJSON() ([]byte, error) {
	switch s.Source() {
	case SecretEnv:
		return json.Marshal("$" + s.content().id)
	case SecretFile, SecretExec:
		return json.Marshal(map[string]string{"source": string(s.Source()), "id": s.content().id})
	}
	return json.Marshal(s.String())
}

// envName is what may be the name of an environment variable.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseSecretText reads the forms of a secret that are strings.
func parseSecretText(text string, pos json5.Pos) Secret {
	if text == "" {
		return Secret{}
	}
	p := secretPayload{source: SecretLiteral, id: text, pos: pos}
	name, isRef := strings.CutPrefix(text, "$")
	if strings.HasPrefix(name, "{") && strings.HasSuffix(name, "}") {
		name = name[1 : len(name)-1]
	}
	switch {
	case isRef && envName.MatchString(name):
		p.source, p.id = SecretEnv, name
	case strings.Contains(text, "${"):
		p.source = SecretTemplate
	default:
		if strings.HasPrefix(text, "$$") {
			p.id = text[1:]
		}
		p.value, p.resolved = p.id, true
	}
	return newSecret(p)
}
