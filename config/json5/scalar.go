package json5

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const noInfinity = "to switch a limit off, write 0 or leave the key out"

// identifier reads an ECMAScript 5.1 identifier name.
func (p *parser) identifier() (string, *Error) {
	var b strings.Builder
	for {
		r, at := p.peek(), p.pos
		if r == '\\' {
			p.next()
			if p.peek() != 'u' {
				return "", p.fail("expected u after \\ in a key, found "+p.found(), "put quotes around the key")
			}
			p.next()
			var err *Error
			if r, err = p.hex(4); err != nil {
				return "", err
			}
			if utf16.IsSurrogate(r) {
				return "", &Error{Pos: at, Message: "this escape is half of a surrogate pair", Hint: "write the character itself, in quotes"}
			}
			if !isIDStart(r) && (b.Len() == 0 || !isIDPart(r)) {
				return "", &Error{Pos: at, Message: fmt.Sprintf("%q may not stand in a key without quotes", r)}
			}
			b.WriteRune(r)
			continue
		}
		if !isIDStart(r) && (b.Len() == 0 || !isIDPart(r)) {
			return b.String(), nil
		}
		b.WriteRune(p.next())
	}
}

func isIDStart(r rune) bool {
	return r == '$' || r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
}

func isIDPart(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	return isIDStart(r) || r == zeroWidthNonJoiner || r == zeroWidthJoiner ||
		unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)
}

// quoted reads a string in single or double quotes.
func (p *parser) quoted() (string, *Error) {
	start := p.pos
	quote := p.next()
	var b strings.Builder
	for {
		switch r := p.peek(); {
		case r == quote:
			p.next()
			return b.String(), nil
		case r == eof || r == '\n' || r == '\r':
			return "", &Error{
				Pos:     start,
				Message: "this string has no end in its line",
				Hint:    fmt.Sprintf("close it with %c; a line break inside is written \\n, or \\ at the end of the line to go on", quote),
			}
		case p.badUTF8():
			return "", p.fail("found "+p.found(), "save the file as UTF-8")
		case r == '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteRune(p.next())
		}
	}
}

// simpleEscape returns the character that a letter after a backslash stands
// for: itself, unless it has a meaning.
func simpleEscape(r rune) rune {
	switch r {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'v':
		return '\v'
	}
	return r
}

func (p *parser) escape(b *strings.Builder) *Error {
	at := p.pos
	p.next() // the backslash
	switch r := p.peek(); {
	case r == eof:
		return &Error{Pos: at, Message: "expected a character after \\, found the end of the file"}
	case p.badUTF8():
		return p.fail("found "+p.found(), "save the file as UTF-8")
	case r == '\r':
		p.next()
		if p.peek() == '\n' {
			p.next()
		}
	case isLineEnd(r):
		p.next()
	case r == 'x':
		p.next()
		v, err := p.hex(2)
		if err != nil {
			return err
		}
		b.WriteRune(v)
	case r == 'u':
		return p.unicodeEscape(b, at)
	case r == '0':
		p.next()
		if d := p.peek(); d >= '0' && d <= '9' {
			return &Error{Pos: at, Message: "octal escapes are not part of JSON5", Hint: "write \\x and two hexadecimal digits"}
		}
		b.WriteByte(0)
	case r >= '1' && r <= '9':
		return &Error{Pos: at, Message: fmt.Sprintf("\\%c is not an escape", r), Hint: "a backslash itself is written \\\\"}
	default:
		p.next()
		b.WriteRune(simpleEscape(r))
	}
	return nil
}

func (p *parser) unicodeEscape(b *strings.Builder, at Pos) *Error {
	p.next() // the u
	r, err := p.hex(4)
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		low := utf8.RuneError
		if p.peekByte(0) == '\\' && p.peekByte(1) == 'u' {
			p.next()
			p.next()
			if low, err = p.hex(4); err != nil {
				return err
			}
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return &Error{Pos: at, Message: "this escape is half of a surrogate pair", Hint: "write the character itself"}
		}
	}
	b.WriteRune(r)
	return nil
}

// hex reads exactly n hexadecimal digits.
func (p *parser) hex(n int) (rune, *Error) {
	var v rune
	for range n {
		d, ok := hexDigit(p.peek())
		if !ok {
			return 0, p.fail(fmt.Sprintf("expected %d hexadecimal digits, found %s", n, p.found()), "a backslash itself is written \\\\")
		}
		v = v<<4 | d
		p.next()
	}
	return v, nil
}

func hexDigit(r rune) (rune, bool) {
	switch {
	case r >= '0' && r <= '9':
		return r - '0', true
	case r >= 'a' && r <= 'f':
		return r - 'a' + 10, true
	case r >= 'A' && r <= 'F':
		return r - 'A' + 10, true
	}
	return 0, false
}

// number reads a number with all the liberties of JSON5.
func (p *parser) number(n *Node) *Error {
	n.Kind = Number
	start := p.pos
	if r := p.peek(); r == '+' || r == '-' {
		p.next()
	}
	if isIDStart(p.peek()) {
		word, err := p.identifier()
		if err != nil {
			return err
		}
		if word == "Infinity" || word == "NaN" {
			return &Error{Pos: start, Message: "expected a finite number, found " + word, Hint: noInfinity}
		}
		return &Error{Pos: start, Message: "expected a number after the sign, found " + word}
	}
	if err := p.digits(start); err != nil {
		return err
	}
	if r := p.peek(); isIDPart(r) {
		return &Error{Pos: start, Message: fmt.Sprintf("a number may not be followed by %s", p.found()),
			Hint: "a value with a unit is a string, or its key names the unit"}
	}
	n.Text = string(p.src[start.Offset:p.pos.Offset])
	return p.evaluate(n)
}

// digits consumes the number after its sign.
func (p *parser) digits(start Pos) *Error {
	if p.peek() == '0' && (p.peekByte(1) == 'x' || p.peekByte(1) == 'X') {
		p.next()
		p.next()
		if p.run(isHex) == 0 {
			return p.fail("expected hexadecimal digits after 0x, found "+p.found(), "")
		}
		return nil
	}
	leadingZero := p.peek() == '0'
	whole := p.run(isDecimal)
	if leadingZero && whole > 1 {
		return &Error{Pos: start, Message: "a number may not start with 0", Hint: "drop the zeros, or put quotes around an id"}
	}
	fraction := 0
	if p.peek() == '.' {
		p.next()
		fraction = p.run(isDecimal)
	}
	if whole+fraction == 0 {
		return p.fail("expected a digit, found "+p.found(), "")
	}
	if r := p.peek(); r == 'e' || r == 'E' {
		p.next()
		if r := p.peek(); r == '+' || r == '-' {
			p.next()
		}
		if p.run(isDecimal) == 0 {
			return p.fail("expected a digit in the exponent, found "+p.found(), "")
		}
	}
	return nil
}

// run consumes characters of one class and returns how many there were.
func (p *parser) run(class func(rune) bool) int {
	n := 0
	for class(p.peek()) {
		p.next()
		n++
	}
	return n
}

func isDecimal(r rune) bool { return r >= '0' && r <= '9' }

func isHex(r rune) bool { _, ok := hexDigit(r); return ok }

func (p *parser) evaluate(n *Node) *Error {
	if v, ok := parseInt(n.Text); ok {
		n.Num = float64(v)
		return nil
	}
	text := n.Text
	if unsigned := strings.TrimLeft(text, "+-"); len(unsigned) > 1 && (unsigned[1] == 'x' || unsigned[1] == 'X') {
		text += "p0" // strconv wants an exponent on a hexadecimal float
	}
	v, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) && math.IsInf(v, 0) {
		return &Error{Pos: n.Pos, Message: "the number " + n.Text + " is out of range"}
	}
	n.Num = v
	return nil
}

// parseInt reads a whole number in decimal or hexadecimal notation.
func parseInt(text string) (int64, bool) {
	unsigned := strings.TrimLeft(text, "+-")
	base := 10
	if strings.HasPrefix(unsigned, "0x") || strings.HasPrefix(unsigned, "0X") {
		unsigned, base = unsigned[2:], 16
	}
	if strings.HasPrefix(text, "-") {
		unsigned = "-" + unsigned
	}
	v, err := strconv.ParseInt(unsigned, base, 64)
	return v, err == nil
}
