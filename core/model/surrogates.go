package model

import "bytes"

// Surrogates puts characters together that a service has cut in two: those
// written in JavaScript cut texts between the halves of a character beyond the
// 16-bit ones, and write each half as an escape of its own. The zero value is
// ready for one stream.
type Surrogates struct {
	high string // the escape that the last string ended with
}

// Join returns an event, which is JSON, with such halves moved: the first one
// out of the end of its string, to the start of the next string that begins
// with a second one. An event without any is returned as it is.
func (s *Surrogates) Join(event []byte) []byte {
	if !bytes.Contains(event, []byte(`\ud`)) && !bytes.Contains(event, []byte(`\uD`)) {
		return event
	}
	out := make([]byte, 0, len(event)+6)
	start := false // of a string
	inside := false
	for i := 0; i < len(event); {
		switch c := event[i]; {
		case c == '"':
			inside = !inside
			start = inside
			out = append(out, c)
			i++
			continue
		case !inside || c != '\\':
			out = append(out, c)
			i++
		case isHalf(event[i:], 'c', 'f') && start && s.high != "":
			out = append(append(out, s.high...), event[i:i+6]...)
			s.high = ""
			i += 6
		case isHalf(event[i:], '8', 'b') && i+6 < len(event) && event[i+6] == '"':
			s.high = string(event[i : i+6])
			i += 6
		case isHalf(event[i:], '8', 'b') && isHalf(event[i+6:], 'c', 'f'):
			out = append(out, event[i:i+12]...)
			i += 12
		default:
			n := min(2, len(event)-i)
			out = append(out, event[i:i+n]...)
			i += n
		}
		start = false
	}
	return out
}

// isHalf reports whether b begins with the escape of a surrogate whose third
// digit is from one hexadecimal digit to another.
func isHalf(b []byte, from, to byte) bool {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || b[2]|0x20 != 'd' {
		return false
	}
	for _, c := range b[4:6] {
		if !bytes.ContainsRune([]byte("0123456789abcdefABCDEF"), rune(c)) {
			return false
		}
	}
	third := b[3]
	if third >= 'A' {
		third |= 0x20
	}
	return third >= from && third <= to && (third <= '9' || third >= 'a')
}
