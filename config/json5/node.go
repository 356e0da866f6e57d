package json5

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Kind is the sort of a value.
type Kind uint8

// The kinds of values that JSON5 knows.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the word a person reads in an error message.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "list"
	case Object:
		return "object"
	default:
		return "unknown kind " + strconv.Itoa(int(k))
	}
}

// Pos is a place in a file.
type Pos struct {
	File   string // the name given to Parse, verbatim; may be empty
	Offset int    // bytes from the start of the file, from 0
	Line   int    // from 1; 0 marks a position that is not known
	Column int    // from 1, counted in UTF-8 characters
}

// IsKnown says whether the position names a real place.
func (p Pos) IsKnown() bool { return p.Line > 0 }

// String returns file:line:column, leaving out what is not known.
func (p Pos) String() string {
	switch {
	case !p.IsKnown():
		return p.File
	case p.File == "":
		return fmt.Sprintf("%d:%d", p.Line, p.Column)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Node is a value of the tree. Which fields carry meaning depends on Kind.
type Node struct {
	Kind Kind
	Pos  Pos // where the value starts
	End  int // offset of the first byte after the value, in Pos.File

	Bool bool   // of a Bool
	Text string // of a String: its content; of a Number: the literal as written

	// Num is the value of a Number; it is finite.
	Num float64

	Items   []*Node   // of an Array
	Members []*Member // of an Object, in the order of the file
}

// Member is one key of an object with its value.
type Member struct {
	Key    string
	KeyPos Pos // where the key starts
	KeyEnd int // offset of the first byte after the key
	Value  *Node
}

// NewObject returns an empty object without a position.
func NewObject() *Node { return &Node{Kind: Object} }

// NewString returns a string without a position.
func NewString(s string) *Node { return &Node{Kind: String, Text: s} }

// NewBool returns a boolean without a position.
func NewBool(b bool) *Node { return &Node{Kind: Bool, Bool: b} }

// Int returns the number as a whole number; ok is false for other kinds, for
// fractions and for what does not fit into 64 bits.
func (n *Node) Int() (v int64, ok bool) {
	if n == nil || n.Kind != Number {
		return 0, false
	}
	if v, ok := parseInt(n.Text); ok {
		return v, true
	}
	// 1e3 and 5.0 are whole numbers too; beyond 2^53 a float is not exact.
	const exact = 1 << 53
	if v := int64(n.Num); n.Num >= -exact && n.Num <= exact && float64(v) == n.Num {
		return v, true
	}
	return 0, false
}

// Member returns the member of an object with this key, or nil.
func (n *Node) Member(key string) *Member {
	if n == nil || n.Kind != Object {
		return nil
	}
	for _, m := range n.Members {
		if m.Key == key {
			return m
		}
	}
	return nil
}

// Get returns the value under a key of an object, or nil.
func (n *Node) Get(key string) *Node {
	if m := n.Member(key); m != nil {
		return m.Value
	}
	return nil
}

// At follows keys, and decimal indices in lists, and returns what is there or
// nil.
func (n *Node) At(path ...string) *Node {
	for _, step := range path {
		switch {
		case n == nil:
			return nil
		case n.Kind == Object:
			n = n.Get(step)
		case n.Kind == Array:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil
			}
			n = n.Items[i]
		default:
			return nil
		}
	}
	return n
}

// Remove takes a key out of an object and returns the value it had, or nil.
func (n *Node) Remove(key string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for i, m := range n.Members {
		if m.Key == key {
			n.Members = append(n.Members[:i:i], n.Members[i+1:]...)
			return m.Value
		}
	}
	return nil
}

// Set puts a value under a key of an object, replacing what is there. It is
// meant for trees built in code; a new member has no position of its own.
func (n *Node) Set(key string, v *Node) {
	if m := n.Member(key); m != nil {
		m.Value = v
		return
	}
	n.Members = append(n.Members, &Member{Key: key, KeyPos: v.Pos, Value: v})
}

// Clone returns a deep copy.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	c := *n
	if n.Items != nil {
		c.Items = make([]*Node, len(n.Items))
		for i, item := range n.Items {
			c.Items[i] = item.Clone()
		}
	}
	if n.Members != nil {
		c.Members = make([]*Member, len(n.Members))
		for i, m := range n.Members {
			mc := *m
			mc.Value = m.Value.Clone()
			c.Members[i] = &mc
		}
	}
	return &c
}

// Interface returns the value in the types of encoding/json: nil, bool,
// float64, string, []any and map[string]any.
func (n *Node) Interface() any {
	switch n.Kind {
	case Bool:
		return n.Bool
	case Number:
		return n.Num
	case String:
		return n.Text
	case Array:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = item.Interface()
		}
		return items
	case Object:
		members := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			members[m.Key] = m.Value.Interface()
		}
		return members
	default:
		return nil
	}
}

// MarshalJSON writes the value as JSON; members are sorted by key.
func (n *Node) MarshalJSON() ([]byte, error) { return json.Marshal(n.Interface()) }
