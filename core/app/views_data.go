package app

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// DataView is everything that the store has of a person.
type DataView struct {
	// Person, as <channel>:<id>.
	Person string `json:"person"`
	// When this was read.
	At core.Millis `json:"at"`
	// Sessions that are theirs alone.
	Sessions []DataSession `json:"sessions"`
	// Sessions that they share with others, with their part.
	Shared []SharedView `json:"shared"`
	// Tasks that sub-agents did for them.
	Tasks []TaskDetail `json:"tasks"`
	// Bindings of theirs, ended ones too.
	Bindings []BindingView `json:"bindings"`
	// Messages of theirs that wait for a turn.
	Waiting []InputView `json:"waiting"`
	// What was seen of them in groups and waits as context.
	Seen []InputView `json:"seen"`
	// Messages that were written to them or on their account.
	Outbox []OutboxDetail `json:"outbox"`
	// Pictures that came with their messages.
	Pictures []PictureView `json:"pictures"`
	// What they used, by day and session.
	Usage []UsageView `json:"usage"`
}

// PictureView is a picture that came with a message.
type PictureView struct {
	// Name by which rows refer to it.
	Ref string `json:"ref"`
	// Number of the session.
	Session int64 `json:"session"`
	// MIME type of the content.
	Type string `json:"type"`
	// Bytes of the content.
	Size int64 `json:"size"`
	// When it came.
	At core.Millis `json:"at"`
	// The content in base64; the API leaves it out of the list and serves it apart.
	Data string `json:"data,omitempty"`
}

// DataSession is a session of a person alone.
type DataSession struct {
	SessionView
	// Its rows, of all its histories, as they are stored; the API leaves them out and serves them apart.
	Transcript []RowView `json:"transcript,omitempty"`
}

// SharedView is a person's part of a session that others share.
type SharedView struct {
	SessionView
	// Rows that are theirs, as they are stored.
	Rows []RowView `json:"rows"`
}

// InputView is a message that is stored and not part of a history yet.
type InputView struct {
	// Address where it was written.
	Address string `json:"address"`
	// When it arrived.
	At core.Millis `json:"at"`
	// The message as it is stored.
	Item json.RawMessage `json:"item"`
}

// UsageView is what a person used on a day in a session.
type UsageView struct {
	// First moment of the day, in UTC.
	Day core.Millis `json:"day"`
	// Number of the session.
	Session int64 `json:"session"`
	// Turns that asked a model or ended, those of sub-agents too.
	Turns int64 `json:"turns"`
	// Tokens read.
	TokensIn int64 `json:"tokensIn"`
	// Tokens written.
	TokensOut int64 `json:"tokensOut"`
	// Cost of the tokens that have a price, in millionths of a US dollar.
	MicroUSD int64 `json:"microUsd"`
	// Tokens without a price.
	Unpriced int64 `json:"unpriced,omitempty"`
}

// DataDeletion is the body of POST /data/{id}/delete.
type DataDeletion struct {
	// Stop what is in progress for the person first; without it the deletion is refused then.
	Force bool `json:"force"`
}

// DataReport says what a deletion did.
type DataReport struct {
	// Person whose data it was.
	Person string `json:"person"`
	// What was in progress and was stopped, "" for nothing.
	Stopped string `json:"stopped,omitempty"`
	// What was done, table by table.
	Tables []DataCount `json:"tables"`
}

// DataCount is what a deletion did in one table.
type DataCount struct {
	// Name of the table.
	Table string `json:"table"`
	// Rows that are gone.
	Removed int64 `json:"removed"`
	// Rows that others need, and that have nothing of the person any more.
	Emptied int64 `json:"emptied"`
}

// Data shows what the store has of a person, but for the transcripts of their
// own sessions. The error is a *core.Error of code bad_person.
func (v Views) Data(tx *store.Tx, who string) (DataView, error) {
	d := DataView{
		Person: who, At: v.Now, Sessions: []DataSession{}, Shared: []SharedView{}, Tasks: []TaskDetail{}, Bindings: []BindingView{},
		Waiting: []InputView{}, Seen: []InputView{}, Outbox: []OutboxDetail{}, Pictures: []PictureView{},
		Usage: []UsageView{},
	}
	p, err := findPerson(who)
	if err != nil {
		return d, err
	}
	h, err := p.find(tx)
	if err != nil {
		return d, err
	}
	for _, fill := range []func(*store.Tx, person, holdings, *DataView) error{v.dataSessions, v.dataWork, v.dataMessages, v.dataPictures, v.dataUsage} {
		if err := fill(tx, p, h, &d); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (v Views) dataSessions(tx *store.Tx, p person, h holdings, d *DataView) error {
	for _, s := range h.own {
		view, err := v.session(tx, s)
		if err != nil {
			return err
		}
		d.Sessions = append(d.Sessions, DataSession{SessionView: view})
	}
	for _, s := range h.shared {
		view, err := v.session(tx, s)
		if err != nil {
			return err
		}
		rows, err := p.rowsIn(tx, s.ID)
		if err != nil {
			return err
		}
		d.Shared = append(d.Shared, SharedView{SessionView: view, Rows: rows})
	}
	return nil
}

// rowsIn returns what a person wrote in a session.
func (p person) rowsIn(tx *store.Tx, session int64) ([]RowView, error) {
	out := []RowView{}
	for after := int64(0); ; {
		rows, err := tx.RowsFrom(session, after, blankPage)
		if err != nil || len(rows) == 0 {
			return out, err
		}
		for _, r := range rows {
			if after = r.ID; r.Owner != p.name {
				continue
			}
			view, err := rowView(r, true)
			if err != nil {
				return nil, err
			}
			out = append(out, view)
		}
	}
}

func (v Views) dataWork(tx *store.Tx, _ person, h holdings, d *DataView) error {
	for _, r := range h.runs {
		view, err := v.Task(tx, r.TaskID)
		if err != nil {
			return err
		}
		d.Tasks = append(d.Tasks, view)
	}
	for _, b := range h.bindings {
		view, err := v.binding(tx, b)
		if err != nil {
			return err
		}
		d.Bindings = append(d.Bindings, view)
	}
	return nil
}

func (v Views) dataMessages(tx *store.Tx, p person, h holdings, d *DataView) error {
	for _, r := range h.inbox {
		if r.Owner == p.name {
			d.Waiting = append(d.Waiting, InputView{Address: r.ReplyTo.String(), At: r.At, Item: json.RawMessage(r.Body)})
		}
	}
	for _, r := range h.seen {
		at := core.Address{Channel: r.Place.Channel, Account: r.Place.Account, Conversation: r.Place.Conversation, Thread: r.Place.Thread}
		d.Seen = append(d.Seen, InputView{Address: at.String(), At: r.At, Item: json.RawMessage(r.Body)})
	}
	for _, r := range h.outbox {
		view, err := v.OutboxMessage(tx, strconv.FormatInt(r.ID, 10))
		if err != nil {
			return err
		}
		d.Outbox = append(d.Outbox, view)
	}
	return nil
}

func (Views) dataPictures(tx *store.Tx, _ person, h holdings, d *DataView) error {
	for _, s := range h.own {
		rows, err := tx.PicturesOf(s.ID)
		if err != nil {
			return err
		}
		for _, m := range rows {
			d.Pictures = append(d.Pictures, pictureView(m))
		}
	}
	for _, s := range d.Shared {
		for _, row := range s.Rows {
			item, err := model.DecodeItem(string(row.Item))
			if err != nil {
				return err
			}
			for _, ref := range pictures(item) {
				m, err := tx.MediaByID(ref)
				if errors.Is(err, store.ErrNotFound) {
					continue
				}
				if err != nil {
					return err
				}
				m.Data = ""
				d.Pictures = append(d.Pictures, pictureView(m))
			}
		}
	}
	return nil
}

func pictureView(m store.Media) PictureView {
	return PictureView{Ref: m.ID, Session: m.Session, Type: m.Type, Size: m.Size, At: m.At, Data: m.Data}
}

// dataPicture serves a picture of the person.
func (s api) dataPicture(r *http.Request) (PictureView, error) {
	return read(s, r, func(v Views, tx *store.Tx) (PictureView, error) {
		d, err := v.Data(tx, ref(r))
		if err != nil {
			return PictureView{}, err
		}
		name := r.URL.Query().Get("ref")
		if !slices.ContainsFunc(d.Pictures, func(p PictureView) bool { return p.Ref == name }) {
			return PictureView{}, core.Errorf("picture_unknown", "the person has no picture %q", name)
		}
		m, err := tx.MediaByID(name)
		return pictureView(m), err
	})
}

func (Views) dataUsage(tx *store.Tx, p person, _ holdings, d *DataView) error {
	days, err := tx.UsageDays(p.name)
	for _, u := range days {
		d.Usage = append(d.Usage, UsageView{
			Day: u.Day.Start(), Session: u.Session, Turns: u.Turns, TokensIn: u.TokensIn, TokensOut: u.TokensOut, MicroUSD: u.MicroUSD,
			Unpriced: u.Unpriced,
		})
	}
	return err
}

func (s api) data(r *http.Request) (DataView, error) {
	return read(s, r, func(v Views, tx *store.Tx) (DataView, error) { return v.Data(tx, ref(r)) })
}

// dataTranscript serves a page of a session that is the person's.
func (s api) dataTranscript(r *http.Request) ([]RowView, error) {
	n, err := limit(r)
	if err != nil {
		return nil, err
	}
	session, err := number(r, "session")
	if err != nil {
		return nil, err
	}
	after, err := number(r, "after")
	if err != nil {
		return nil, err
	}
	return read(s, r, func(_ Views, tx *store.Tx) ([]RowView, error) {
		p, err := findPerson(ref(r))
		if err != nil {
			return nil, err
		}
		h, err := p.find(tx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(h.own, func(o store.Session) bool { return o.ID == session }) {
			return nil, unknown("session", strconv.FormatInt(session, 10))
		}
		rows, err := tx.RowsFrom(session, after, n)
		if err != nil {
			return nil, err
		}
		out := make([]RowView, len(rows))
		for i, row := range rows {
			if out[i], err = rowView(row, true); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// number returns a number of the query string, 0 if it is not there.
func number(r *http.Request, name string) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, core.Errorf("bad_request", "%s is %q, which is no number", name, text)
	}
	return n, nil
}

func (s api) deleteData(r *http.Request) (DataReport, error) {
	var req DataDeletion
	if err := decodeBody(r, &req); err != nil {
		return DataReport{}, err
	}
	report, err := write(s, r, func(v Views, tx *store.Tx) (DataReport, error) {
		return eraser{s.live}.erase(tx, ref(r), req.Force, v.Now)
	})
	var refused *core.Error
	switch {
	case err == nil:
		s.live.log.Info("the data of a person was deleted on request")
	case !errors.As(err, &refused):
		s.live.log.Error("the data of a person could not be deleted", "error", err)
	}
	return report, err
}
