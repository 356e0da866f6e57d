package console

import (
	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/core"
)

// settings are the keys of an account that the adapter reads.
type settings struct {
	// APIRoot is the URL of a console server elsewhere; empty is the local hub.
	APIRoot string `json:"apiRoot"`
	// Token is sent to that server as a bearer token.
	Token string `json:"token"`
}

// Entry returns the channel for a registry. Accounts without an apiRoot use
// local; if that is nil they are refused.
func Entry(local *Hub) channels.Entry {
	return channels.Entry{
		Name:     Channel,
		Describe: "the terminal: direct chat, groups and threads on this machine",
		New: func(o channels.Options) (core.Adapter, error) {
			var s settings
			if err := o.Decode(&s); err != nil {
				return nil, err
			}
			switch {
			case s.APIRoot != "":
				return NewAdapter(NewClient(s.APIRoot, s.Token, o.HTTP), o.Account, o.Clock), nil
			case local != nil:
				return NewAdapter(local, o.Account, o.Clock), nil
			}
			return nil, core.Errorf("console_no_hub", "the console account %q has no hub here", o.Account).
				WithRemedy("set channels.console.accounts.%s.apiRoot", o.Account)
		},
	}
}
