package json5

// Merge lays over on top of base and returns the result as a new tree: where
// both sides have an object the members are merged recursively, everything
// else is replaced by what over has. Members of base keep their order, new
// ones follow. Every value keeps its own position and file name; neither
// argument is changed. A nil argument counts as absent.
func Merge(base, over *Node) *Node {
	switch {
	case over == nil:
		return base.Clone()
	case base == nil || base.Kind != Object || over.Kind != Object:
		return over.Clone()
	}
	merged := &Node{Kind: Object, Pos: over.Pos, End: over.End}
	if !over.Pos.IsKnown() {
		merged.Pos, merged.End = base.Pos, base.End
	}
	for _, m := range base.Members {
		c := *m
		if o := over.Member(m.Key); o != nil {
			c.KeyPos, c.KeyEnd = o.KeyPos, o.KeyEnd
			c.Value = Merge(m.Value, o.Value)
		} else {
			c.Value = m.Value.Clone()
		}
		merged.Members = append(merged.Members, &c)
	}
	for _, m := range over.Members {
		if base.Member(m.Key) == nil {
			c := *m
			c.Value = m.Value.Clone()
			merged.Members = append(merged.Members, &c)
		}
	}
	return merged
}
