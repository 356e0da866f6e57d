package json5

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// MaxDepth is how deep lists and objects may be nested. It bounds the stack
// that a hostile document can claim.
const MaxDepth = 100

// Parse reads one document. The name goes into every position and is not
// opened. The error, if any, is of type Errors. The result shares no memory
// with src.
func Parse(name string, src []byte) (*Node, error) {
	p := &parser{src: src, pos: Pos{File: name, Line: 1, Column: 1}}
	root, fault := p.document()
	if fault != nil {
		p.errs = append(p.errs, fault)
	}
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	return root, nil
}

// eof is what peek returns at the end of the source. It is not a character.
const eof rune = -1

type parser struct {
	src   []byte
	pos   Pos // of the next character
	depth int
	errs  Errors // duplicate keys; parsing goes on after them
}

func (p *parser) document() (*Node, *Error) {
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.peek() == eof {
		return nil, p.fail("expected a value, found the end of the file", "an empty configuration is {}")
	}
	root, err := p.value()
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.peek() != eof {
		return nil, p.fail("expected the end of the file, found "+p.found(), "a document is one value; put everything inside one { }")
	}
	return root, nil
}

// peek returns the next character, or eof. Bytes that are not UTF-8 come back
// as utf8.RuneError; whoever meets one calls bad.
func (p *parser) peek() rune {
	r, _ := p.decode()
	return r
}

func (p *parser) decode() (rune, int) {
	if p.pos.Offset >= len(p.src) {
		return eof, 0
	}
	if b := p.src[p.pos.Offset]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRune(p.src[p.pos.Offset:])
}

// peekByte looks ahead without decoding; it returns 0 past the end.
func (p *parser) peekByte(ahead int) byte {
	if i := p.pos.Offset + ahead; i < len(p.src) {
		return p.src[i]
	}
	return 0
}

// next consumes one character and keeps line and column. A CR LF pair is one
// line break.
func (p *parser) next() rune {
	r, size := p.decode()
	p.pos.Offset += size
	switch {
	case r == '\n' || r == '\r' && p.peekByte(0) != '\n':
		p.pos.Line++
		p.pos.Column = 1
	case size > 0:
		p.pos.Column++
	}
	return r
}

// badUTF8 says whether the next bytes are not UTF-8.
func (p *parser) badUTF8() bool {
	r, size := p.decode()
	return r == utf8.RuneError && size == 1
}

func (p *parser) fail(message, hint string) *Error {
	return &Error{Pos: p.pos, Message: message, Hint: hint}
}

// found describes the next character for an error message.
func (p *parser) found() string {
	switch r := p.peek(); {
	case r == eof:
		return "the end of the file"
	case p.badUTF8():
		return fmt.Sprintf("the byte 0x%02X, which is not UTF-8", p.src[p.pos.Offset])
	case r == '\n' || r == '\r':
		return "the end of the line"
	case unicode.IsPrint(r):
		return strconv.QuoteRune(r)
	default:
		return fmt.Sprintf("the character U+%04X", r)
	}
}

// space skips white space and comments.
func (p *parser) space() *Error {
	for {
		switch r := p.peek(); {
		case r == eof:
			return nil
		case r == '/' && p.peekByte(1) == '/':
			for r := p.peek(); r != eof && !isLineEnd(r); r = p.peek() {
				if p.badUTF8() {
					return p.fail("found "+p.found(), "save the file as UTF-8")
				}
				p.next()
			}
		case r == '/' && p.peekByte(1) == '*':
			if err := p.blockComment(); err != nil {
				return err
			}
		case isSpace(r):
			p.next()
		default:
			return nil
		}
	}
}

func (p *parser) blockComment() *Error {
	start := p.pos
	p.next()
	p.next()
	for p.peek() != '*' || p.peekByte(1) != '/' {
		if p.peek() == eof {
			return &Error{Pos: start, Message: "this comment has no end", Hint: "close it with */"}
		}
		if p.badUTF8() {
			return p.fail("found "+p.found(), "save the file as UTF-8")
		}
		p.next()
	}
	p.next()
	p.next()
	return nil
}

// isSpace is JSON5's white space together with its line terminators.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\v', '\f', ' ', '\u00a0', '\ufeff', '\n', '\r', '\u2028', '\u2029':
		return true
	}
	return r >= utf8.RuneSelf && unicode.Is(unicode.Zs, r)
}

func isLineEnd(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
}

func (p *parser) value() (*Node, *Error) {
	n := &Node{Pos: p.pos}
	var err *Error
	switch r := p.peek(); {
	case r == '{':
		err = p.nested(n, p.object)
	case r == '[':
		err = p.nested(n, p.array)
	case r == '"' || r == '\'':
		n.Kind = String
		n.Text, err = p.quoted()
	case r >= '0' && r <= '9', r == '.', r == '+', r == '-':
		err = p.number(n)
	case isIDStart(r):
		err = p.word(n)
	default:
		err = p.fail("expected a value, found "+p.found(), "")
	}
	n.End = p.pos.Offset
	return n, err
}

// word reads a value that is a bare word.
func (p *parser) word(n *Node) *Error {
	start := p.pos
	word, err := p.identifier()
	if err != nil {
		return err
	}
	switch word {
	case "null":
		n.Kind = Null
	case "true", "false":
		n.Kind, n.Bool = Bool, word == "true"
	case "Infinity", "NaN":
		return &Error{Pos: start, Message: "expected a finite number, found " + word, Hint: noInfinity}
	default:
		return &Error{Pos: start, Message: "expected a value, found the bare word " + word, Hint: "put quotes around it: " + strconv.Quote(word)}
	}
	return nil
}

func (p *parser) nested(n *Node, read func(*Node) *Error) *Error {
	p.depth++
	if p.depth > MaxDepth {
		return p.fail(fmt.Sprintf("nested deeper than %d levels", MaxDepth), "")
	}
	p.next() // the bracket
	err := read(n)
	p.depth--
	return err
}

func (p *parser) array(n *Node) *Error {
	n.Kind = Array
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == ']' {
			p.next()
			return nil
		}
		if p.peek() == eof {
			return &Error{Pos: n.Pos, Message: "this list has no end", Hint: "close it with ]"}
		}
		item, err := p.value()
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
		if err := p.separator(n.Pos, ']', "this list"); err != nil {
			return err
		}
	}
}

func (p *parser) object(n *Node) *Error {
	n.Kind = Object
	seen := make(map[string]Pos)
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == '}' {
			p.next()
			return nil
		}
		if p.peek() == eof {
			return &Error{Pos: n.Pos, Message: "this object has no end", Hint: "close it with }"}
		}
		m, err := p.member()
		if err != nil {
			return err
		}
		if first, ok := seen[m.Key]; ok {
			p.errs = append(p.errs, &Error{
				Pos:     m.KeyPos,
				Message: fmt.Sprintf("the key %q stands twice in this object, first at %d:%d", m.Key, first.Line, first.Column),
				Hint:    "keep one of them",
			})
		} else {
			seen[m.Key] = m.KeyPos
		}
		n.Members = append(n.Members, m)
		if err := p.separator(n.Pos, '}', "this object"); err != nil {
			return err
		}
	}
}

func (p *parser) member() (*Member, *Error) {
	m := &Member{KeyPos: p.pos}
	var err *Error
	switch r := p.peek(); {
	case r == '"' || r == '\'':
		m.Key, err = p.quoted()
	case isIDStart(r) || r == '\\':
		m.Key, err = p.identifier()
	case r >= '0' && r <= '9', r == '-':
		return nil, p.fail("expected a key, found "+p.found(), "a key that starts with a digit or a sign needs quotes")
	default:
		return nil, p.fail("expected a key, found "+p.found(), "")
	}
	if err != nil {
		return nil, err
	}
	m.KeyEnd = p.pos.Offset
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.peek() != ':' {
		return nil, p.fail(fmt.Sprintf("expected ':' after the key %q, found %s", m.Key, p.found()), keyHint(p.peek()))
	}
	p.next()
	if err := p.space(); err != nil {
		return nil, err
	}
	m.Value, err = p.value()
	return m, err
}

// keyHint explains the two usual reasons for a key without a colon.
func keyHint(r rune) string {
	switch r {
	case '-', '.', '/', '@', '#', '*':
		return "a key with other characters than letters, digits, _ and $ needs quotes"
	case '=':
		return "JSON5 separates key and value by a colon"
	}
	return ""
}

// separator reads the comma after an entry, or sees the closing bracket.
func (p *parser) separator(open Pos, end rune, what string) *Error {
	if err := p.space(); err != nil {
		return err
	}
	switch p.peek() {
	case ',':
		p.next()
		return nil
	case end:
		return nil
	case eof:
		return &Error{Pos: open, Message: what + " has no end", Hint: "close it with " + string(end)}
	}
	return p.fail(fmt.Sprintf("expected ',' or '%c', found %s", end, p.found()), "is a comma missing before this place?")
}
