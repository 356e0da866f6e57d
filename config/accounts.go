package config

import "github.com/skein-bot/skein/config/json5"

// SpreadAccounts rewrites a tree that was read but not decoded: where the keys
// of a single account stand directly under a channel, they move to
// accounts.default. Two trees of which one writes its account that way can then
// be merged. Positions stay; a channel that has accounts, or no key of an
// account, is left alone.
func SpreadAccounts(tree *json5.Node) {
	for _, channel := range Keys().Lookup("channels").Fields {
		if n := tree.At("channels", channel.Name); n != nil && n.Kind == json5.Object && n.Get("accounts") == nil {
			spreadAccount(n, channel)
		}
	}
}

func spreadAccount(n *json5.Node, channel *Key) {
	account := &json5.Node{Kind: json5.Object, Pos: n.Pos, End: n.End}
	var rest []*json5.Member
	for _, m := range n.Members {
		if key := channel.Lookup(m.Key); key != nil && key.Direct {
			account.Members = append(account.Members, m)
		} else {
			rest = append(rest, m)
		}
	}
	if len(account.Members) == 0 {
		return
	}
	accounts := &json5.Node{Kind: json5.Object, Pos: n.Pos, End: n.End}
	accounts.Set("default", account)
	n.Members = rest
	n.Set("accounts", accounts)
}
