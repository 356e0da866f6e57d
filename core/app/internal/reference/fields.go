package main

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

// The marks around the generated part of the page.
const (
	fieldsBegin = "<!-- fields: written by go generate ./core/app -->\n"
	fieldsEnd   = "<!-- end of fields -->\n"
)

// listed are the views that the page describes, with the commands that print
// them.
func listed() []struct {
	title string
	typ   reflect.Type
} {
	return []struct {
		title string
		typ   reflect.Type
	}{
		{"`sessions list`", reflect.TypeFor[app.SessionView]()},
		{"`sessions show`", reflect.TypeFor[app.SessionDetail]()},
		{"a turn of `sessions show`", reflect.TypeFor[app.TurnView]()},
		{"a line of `sessions transcript`", reflect.TypeFor[app.RowView]()},
		{"`sessions stop`, `tasks cancel`", reflect.TypeFor[app.StopView]()},
		{"`tasks list`, `tasks notify`, `tasks retry`, `tasks dismiss`", reflect.TypeFor[app.TaskView]()},
		{"`tasks show`", reflect.TypeFor[app.TaskDetail]()},
		{"`tasks show --trace`", reflect.TypeFor[app.TraceView]()},
		{"a step of `tasks show --trace`", reflect.TypeFor[app.TraceStep]()},
		{"`tasks audit`", reflect.TypeFor[app.AuditView]()},
		{"a finding of `tasks audit`", reflect.TypeFor[app.AuditFinding]()},
		{"the `tasks` of `tasks audit` and `doctor`", reflect.TypeFor[app.TaskCounts]()},
		{"`tasks maintenance`", reflect.TypeFor[app.MaintenanceView]()},
		{"an action of `tasks maintenance`", reflect.TypeFor[app.ActionView]()},
		{"`bindings list`, `bindings show`, `bindings end`", reflect.TypeFor[app.BindingView]()},
		{"`outbox list`, `outbox retry`, `outbox dismiss`", reflect.TypeFor[app.OutboxView]()},
		{"`outbox show`", reflect.TypeFor[app.OutboxDetail]()},
		{"`channels status`", reflect.TypeFor[app.ChannelView]()},
		{"`usage`", reflect.TypeFor[app.AgentUsageView]()},
		{"a budget of `tasks show`", reflect.TypeFor[app.BudgetView]()},
		{"`doctor`", reflect.TypeFor[app.DoctorView]()},
		{"a finding of `doctor`", reflect.TypeFor[app.FindingView]()},
		{"an alert of `doctor`", reflect.TypeFor[app.AlertView]()},
		{"`data export`", reflect.TypeFor[app.DataView]()},
		{"a session of `data export`", reflect.TypeFor[app.DataSession]()},
		{"a shared session of `data export`", reflect.TypeFor[app.SharedView]()},
		{"a row that waits of `data export`", reflect.TypeFor[app.InputView]()},
		{"a picture of `data export`", reflect.TypeFor[app.PictureView]()},
		{"a day of `data export`", reflect.TypeFor[app.UsageView]()},
		{"`data delete`", reflect.TypeFor[app.DataReport]()},
		{"a table of `data delete`", reflect.TypeFor[app.DataCount]()},
		{"`send`", reflect.TypeFor[app.SentView]()},
		{"`route explain`", reflect.TypeFor[app.RouteView]()},
	}
}

// fieldLists writes a table for each view. What a detail shares with the list
// is said once.
func fieldLists(docs comments) []byte {
	s := &schemas{docs: docs, components: object{}}
	var b bytes.Buffer
	for _, view := range listed() {
		fmt.Fprintf(&b, "\n### %s\n\n", view.title)
		own := view.typ
		if f := view.typ.Field(0); f.Anonymous {
			fmt.Fprintf(&b, "The fields of the list, and:\n\n")
			own = without(view.typ)
		}
		b.WriteString("| field | type | what |\n| --- | --- | --- |\n")
		for _, m := range s.members(own) {
			doc := m.doc
			if doc == "" {
				doc = s.docs[typeName(view.typ)+"."+fieldOf(view.typ, m.name)]
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.name, kind(m.typ), strings.ReplaceAll(doc, "|", "\\|"))
		}
	}
	b.WriteString("\n")
	return b.Bytes()
}

// without returns a struct without its embedded one.
func without(t reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for i := range t.NumField() {
		if f := t.Field(i); !f.Anonymous {
			fields = append(fields, f)
		}
	}
	return reflect.StructOf(fields)
}

// fieldOf returns the Go name of a JSON field.
func fieldOf(t reflect.Type, name string) string {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return t.Field(i).Name
		}
	}
	return ""
}

// kind is the type of a field in words.
func kind(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[core.Millis]():
		return "time"
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return "string"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Pointer:
		return kind(t.Elem()) + " or null"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "any"
		}
		return "list"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "string"
}

// replaceFields puts the lists between the marks of a page.
func replaceFields(page, lists []byte) ([]byte, error) {
	before, rest, begins := bytes.Cut(page, []byte(fieldsBegin))
	_, after, ends := bytes.Cut(rest, []byte(fieldsEnd))
	if !begins || !ends {
		return nil, errors.New(fieldsFile + " has lost the marks around its field lists")
	}
	return bytes.Join([][]byte{before, []byte(fieldsBegin), lists, []byte(fieldsEnd), after}, nil), nil
}
