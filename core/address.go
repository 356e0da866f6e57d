package core

import (
	"errors"
	"fmt"
	"strings"
)

// Address says where a message came from or goes to. Its parts are opaque ids
// of the platform, kept in the platform's own case. It is captured once, at
// intake or at spawn, and handed whole to every send.
//
// Two addresses are the same place when Channel, Account, Conversation and
// Thread are equal; Parent is only an attribute (a Discord thread whose parent
// channel was moved is still the same thread). Compare with Same or use Place
// as a map key, never ==.
type Address struct {
	Channel      string `json:"channel"`
	Account      string `json:"account"`
	Conversation string `json:"conversation"`
	Thread       string `json:"thread,omitempty"`
	Parent       string `json:"parent,omitempty"`
}

// Place is the comparable identity of an Address.
type Place struct {
	Channel, Account, Conversation, Thread string
}

// Place returns the four parts that make the identity of a.
func (a Address) Place() Place {
	return Place{a.Channel, a.Account, a.Conversation, a.Thread}
}

// Address returns the place as an address without a parent.
func (p Place) Address() Address {
	return Address{Channel: p.Channel, Account: p.Account, Conversation: p.Conversation, Thread: p.Thread}
}

// Same reports whether a and b are the same place; Parent does not count.
func (a Address) Same(b Address) bool { return a.Place() == b.Place() }

// IsZero reports whether a names no place at all.
func (a Address) IsZero() bool { return a.Place() == Place{} }

// InThread returns a with its thread replaced.
func (a Address) InThread(thread string) Address {
	a.Thread = thread
	return a
}

// ParentConversation returns the conversation that holds a's thread: a itself
// without the thread, or the parent conversation where threads are
// conversations of their own.
func (a Address) ParentConversation() Address {
	if a.Parent != "" {
		return Address{Channel: a.Channel, Account: a.Account, Conversation: a.Parent}
	}
	return a.InThread("")
}

// String returns the text form, channel:account:conversation[/thread], with
// ':', '/', '%', white space and control characters percent-escaped. The zero
// address is the empty string.
func (a Address) String() string {
	if a.IsZero() {
		return ""
	}
	var b strings.Builder
	escapeTo(&b, a.Channel)
	b.WriteByte(':')
	escapeTo(&b, a.Account)
	b.WriteByte(':')
	escapeTo(&b, a.Conversation)
	if a.Thread != "" {
		b.WriteByte('/')
		escapeTo(&b, a.Thread)
	}
	return b.String()
}

// MarshalText implements encoding.TextMarshaler with the text form.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.Address().String()), nil }

// ErrBadAddress is wrapped by every error of ParseAddress.
var ErrBadAddress = errors.New("bad address")

// ParseAddress reads the text form. The channel, the account and the
// conversation must be there; "channel:conversation" is not a short form,
// because an account left out would be a guess.
func ParseAddress(s string) (Address, error) {
	bad := func(why string) (Address, error) {
		return Address{}, fmt.Errorf("%w %q: %s (want channel:account:conversation or channel:account:conversation/thread)", ErrBadAddress, s, why)
	}
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return bad(fmt.Sprintf("%d parts separated by ':' instead of 3", len(parts)))
	}
	conversation, thread, threaded := strings.Cut(parts[2], "/")
	if strings.Contains(thread, "/") {
		return bad("more than one '/'")
	}
	raw := []string{parts[0], parts[1], conversation, thread}
	for i, name := range []string{"channel", "account", "conversation", "thread"} {
		if raw[i] == "" && (i < 3 || threaded) {
			return bad("the " + name + " is empty")
		}
		v, err := unescape(raw[i])
		if err != nil {
			return bad(err.Error())
		}
		raw[i] = v
	}
	return Address{Channel: raw[0], Account: raw[1], Conversation: raw[2], Thread: raw[3]}, nil
}

const upperHex = "0123456789ABCDEF"

// mustEscape reports whether a byte cannot stand for itself in a text form.
func mustEscape(c byte) bool {
	return c == ':' || c == '/' || c == '%' || c <= ' ' || c == 0x7f
}

func escapeTo(b *strings.Builder, s string) {
	for i := range len(s) {
		c := s[i]
		if mustEscape(c) {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
			continue
		}
		b.WriteByte(c)
	}
}

func escape(s string) string {
	for i := range len(s) {
		if mustEscape(s[i]) {
			var b strings.Builder
			escapeTo(&b, s)
			return b.String()
		}
	}
	return s
}

// unescape is the strict inverse of escape: an escape that escape would not
// have written, or a raw byte that it would have escaped, is an error, so that
// one value has one spelling.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '%' {
			if mustEscape(c) {
				return "", fmt.Errorf("byte 0x%02X is not escaped", c)
			}
			b.WriteByte(c)
			continue
		}
		if i+2 >= len(s) {
			return "", errors.New("an escape is cut short")
		}
		hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
		if hi < 0 || lo < 0 {
			return "", fmt.Errorf("bad escape %q", s[i:i+3])
		}
		v := byte(hi<<4 | lo)
		if !mustEscape(v) {
			return "", fmt.Errorf("needless escape %q", s[i:i+3])
		}
		b.WriteByte(v)
		i += 2
	}
	return b.String(), nil
}
