package convtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/convtest/script"
)

// people plays what somebody does.
func (p *play) people(ctx context.Context, do script.Statement) error {
	switch do := do.(type) {
	case script.Say:
		return p.say(ctx, do)
	case script.SendFile:
		f, _ := p.script.File(do.File)
		post := testserver.Post{Text: p.expand(do.Text), File: &testserver.File{Name: f.Name, Data: f.Data}}
		return p.post(ctx, do.User, p.resolve(do.Place), post)
	case script.Edit:
		return p.change(do.User, do.Target, do.Place, func(by testserver.User, m wrote) error {
			return m.at.server.Edit(ctx, by, m.ref(), p.expand(do.Text))
		})
	case script.Delete:
		return p.change(do.User, do.Target, do.Place, func(by testserver.User, m wrote) error {
			p.wrote = slices.DeleteFunc(p.wrote, func(w wrote) bool { return w == m })
			return m.at.server.Delete(ctx, by, m.ref())
		})
	case script.React:
		return p.change(do.User, do.Target, do.Place, func(by testserver.User, m wrote) error {
			return m.at.server.React(ctx, by, m.ref(), do.Emoji)
		})
	case script.Press:
		by, err := p.user(do.User)
		if err != nil {
			return err
		}
		at := p.resolve(do.Place)
		return refused(at.server.Press(ctx, by, at.at, p.expand(do.Label)))
	case script.OpenTopic:
		return p.openTopic(ctx, do)
	}
	return nil
}

// change does something to the message that a line means.
func (p *play) change(u script.User, t script.Target, place script.Place, do func(by testserver.User, m wrote) error) error {
	by, err := p.user(u)
	if err != nil {
		return err
	}
	m, err := p.message(u.Name, t, place)
	if err != nil {
		return err
	}
	return refused(do(by, m))
}

// user is a person as test servers know one. Somebody who is called owner for
// the first time becomes one, as by a reload of the configuration.
func (p *play) user(u script.User) (testserver.User, error) {
	if u.Owner && p.addOwner(u.Name) {
		if err := p.ownersChanged(); err != nil {
			return testserver.User{}, err
		}
	}
	bot := u.Bot
	for _, x := range p.script.People() {
		bot = bot || x.Name == u.Name && x.Bot
	}
	return testserver.User{Name: u.Name, Bot: bot}, nil
}

func (p *play) say(ctx context.Context, do script.Say) error {
	at := p.resolve(do.Place)
	post := testserver.Post{Text: p.expand(do.Text), Command: do.Command}
	if do.ReplyTo != "" {
		m, err := p.message(do.User.Name, do.ReplyTo, do.Place)
		if err != nil {
			return err
		}
		ref := m.ref()
		post.ReplyTo = &ref
	}
	return p.post(ctx, do.User, at, post)
}

func (p *play) post(ctx context.Context, u script.User, at spot, post testserver.Post) error {
	by, err := p.user(u)
	if err != nil {
		return err
	}
	post.By, post.At = by, at.at
	ref, err := at.server.Post(ctx, post)
	if err != nil {
		return refused(err)
	}
	p.wrote = append(p.wrote, wrote{by: u.Name, at: at, id: ref.ID})
	return nil
}

func (p *play) openTopic(ctx context.Context, do script.OpenTopic) error {
	by, err := p.user(do.User)
	if err != nil {
		return err
	}
	at := p.resolve(do.Place)
	thread, err := at.server.OpenTopic(ctx, by, at.at, p.expand(do.Title))
	if err != nil {
		return refused(err)
	}
	if do.As != "" {
		p.vars[do.As] = thread
	}
	return nil
}

// message finds the message that LAST or BOT means: at the place of the line,
// if it has one, else LAST anywhere, and BOT where that person wrote last.
func (p *play) message(by string, t script.Target, place script.Place) (wrote, error) {
	var newest *wrote
	for i, w := range p.wrote {
		if w.by == by && (place.Channel == "" || w.at == p.resolve(place)) {
			newest = &p.wrote[i]
		}
	}
	if t == script.Last {
		if newest == nil {
			return wrote{}, &expectError{expected: "a message of " + by + " before this line", seen: []string{"there is none"}}
		}
		return *newest, nil
	}
	var at spot
	switch {
	case place.Channel != "":
		at = p.resolve(place)
	case newest != nil:
		at = newest.at
	default:
		return wrote{}, &expectError{expected: by + " to have written somewhere, so that BOT means the bot there", seen: []string{"nothing"}}
	}
	for _, m := range slices.Backward(at.server.Messages(at.at)) {
		if m.Own {
			return wrote{at: at, id: m.ID}, nil
		}
	}
	return wrote{}, &expectError{expected: "a message of the bot at " + at.String(), seen: []string{"there is none"}}
}

func (w wrote) ref() testserver.Ref { return testserver.Ref{Place: w.at.at, ID: w.id} }

// refused explains the error of a test server.
func refused(err error) error {
	if err != nil {
		err = fmt.Errorf("the platform refuses: %w", err)
	}
	return err
}
