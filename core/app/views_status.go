package app

import (
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/delivery"
	"github.com/skein-bot/skein/core/store"
)

// AccountOffline is the state of an account that no gateway runs.
const AccountOffline AccountState = "offline"

// StatusView is the gateway as a whole.
type StatusView struct {
	// Whether a gateway runs; false where the store is read without one.
	Running bool `json:"running"`
	// Version of the program.
	Version string `json:"version"`
	// Process id of the gateway.
	PID int `json:"pid,omitempty"`
	// When it became ready.
	ReadyAt core.Millis `json:"readyAt,omitempty"`
	// Configuration file.
	Config string `json:"config"`
	// Folder of the socket and of the files of the process.
	StateDir string `json:"stateDir"`
	// Why the configuration that was read last is not in force; empty if it is.
	ConfigError string `json:"configError,omitempty"`
	// Changes of the configuration that wait for the next start of the gateway, one per line.
	Pending []string `json:"pending"`
	// Address of the store.
	Store string `json:"store"`
	// Whether nothing is in progress: no turn, no input, no sub-agent, no message that is due.
	Idle bool `json:"idle"`
	// What there is and what is in progress.
	Load LoadView `json:"load"`
	// The accounts.
	Channels []ChannelView `json:"channels"`
}

// LoadView counts what there is and what is in progress.
type LoadView struct {
	// Sessions that are not archived.
	Sessions int `json:"sessions"`
	// Turns in progress.
	Turns int `json:"turns"`
	// Inputs that wait for a turn.
	Inbox int `json:"inbox"`
	// Turns that wait for sub-agents or for a message.
	Waits int `json:"waits"`
	// Sub-agents that have not ended.
	Tasks int `json:"tasks"`
	// Bindings that have not ended.
	Bindings int `json:"bindings"`
	// Messages that are due to be sent.
	Due int `json:"due"`
	// Messages that wait for another try.
	Retrying int `json:"retrying"`
	// Messages that are ambiguous, failed or blocked, until someone retries or dismisses them.
	Trouble int `json:"trouble"`
}

// ChannelView is one account of a channel.
type ChannelView struct {
	// Name of the channel.
	Channel string `json:"channel"`
	// Name of the account.
	Account string `json:"account"`
	// State of the account: starting, running, retrying (waits after a failure), stopped (a failure that trying again cannot cure), elsewhere (another node of the store has it) or offline (no gateway runs).
	State AccountState `json:"state"`
	// Since when it is in that state.
	Since core.Millis `json:"since,omitempty"`
	// What the last reload did with it: applied, unchanged, failed or needs restart; empty before the first one.
	Reload ReloadResult `json:"reload,omitempty"`
	// What went wrong last, receiving or sending.
	LastError string `json:"lastError,omitempty"`
	// Messages that are not sent yet.
	Open int `json:"open"`
	// Messages sent since the gateway started.
	Sent int64 `json:"sent"`
	// Messages sent once more because they may have been sent.
	Resent int64 `json:"resent"`
	// Tries that failed and were repeated.
	Retries int64 `json:"retries"`
	// Messages given up as failed.
	Failed int64 `json:"failed"`
	// Messages given up as blocked.
	Blocked int64 `json:"blocked"`
	// Messages of which nobody knows whether they were sent.
	Ambiguous int64 `json:"ambiguous"`
	// When the last message was sent.
	LastSentAt core.Millis `json:"lastSentAt,omitempty"`
	// Positions in the platform's updates up to which they are stored, by name.
	Cursors map[string]string `json:"cursors"`
}

// Status shows the gateway as far as the store and the configuration tell;
// App.status adds what only the running one knows.
func (v Views) Status(tx *store.Tx) (StatusView, error) {
	load, err := tx.Load(v.Now)
	if err != nil {
		return StatusView{}, err
	}
	channels, err := v.Channels(tx)
	return StatusView{
		Version: Version(), Pending: []string{}, Config: v.Config.Path(), StateDir: v.Config.StateDir(), Store: v.Config.Store.URL.String(), Idle: load.Idle(),
		Load: LoadView{
			Sessions: load.Sessions, Turns: load.Turns, Inbox: load.Inbox, Waits: load.Waits, Tasks: load.Runs, Bindings: load.Bindings,
			Due: load.Due, Retrying: load.Retrying, Trouble: load.Trouble,
		},
		Channels: channels,
	}, err
}

// Channels lists the accounts that the configuration enables.
func (v Views) Channels(tx *store.Tx) ([]ChannelView, error) {
	out := []ChannelView{}
	for _, channel := range v.Config.Channels.Names() {
		settings, _ := v.Config.Channels.Get(channel)
		for _, id := range settings.AccountNames() {
			if !settings.IsEnabled() || !settings.Account(id).Enabled {
				continue
			}
			view := ChannelView{Channel: channel, Account: id, State: AccountOffline}
			var err error
			if view.Cursors, err = tx.Cursors(channel, id); err != nil {
				return nil, err
			}
			if view.Open, err = tx.CountOpen(channel, id); err != nil {
				return nil, err
			}
			out = append(out, view)
		}
	}
	return out, nil
}

// runs adds to the views of accounts what the running gateway knows of them.
func (a *App) runs(views []ChannelView) {
	states := a.Accounts()
	sends := a.delivery.Status()
	for i := range views {
		v := &views[i]
		for _, s := range states {
			if s.Channel == v.Channel && s.Account == v.Account {
				v.State, v.Since, v.LastError, v.Reload = s.State, s.Since, s.LastError, s.Reload
			}
		}
		for _, s := range sends {
			if s.Channel == v.Channel && s.Account == v.Account {
				v.sends(s)
			}
		}
	}
}

func (v *ChannelView) sends(s delivery.Status) {
	v.Open, v.Sent, v.Resent, v.Retries = s.Open, s.Sent, s.Resent, s.Retries
	v.Failed, v.Blocked, v.Ambiguous, v.LastSentAt = s.Failed, s.Blocked, s.Ambiguous, s.LastSent
	if v.LastError == "" {
		v.LastError = s.LastError
	}
}

// reloads adds what the last reload left open.
func (a *App) reloads(view *StatusView) {
	a.mu.Lock()
	defer a.mu.Unlock()
	view.Pending = lines(a.reloaded.pending)
	if a.reloaded.refused != nil {
		view.ConfigError = a.reloaded.refused.Error()
	}
}
