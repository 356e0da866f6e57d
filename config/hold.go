package config

import (
	"reflect"
	"slices"
)

// Hold returns next with every key of some classes as it is in use: what can be
// put in force while those keys wait for a restart. Neither argument is changed.
func Hold(inUse, next *Config, classes ...Class) *Config {
	held := *next
	hold(Keys(), reflectValue(inUse), reflectValue(&held), classes)
	return &held
}

// hold copies the keys of some classes. It stops at pointers, maps and lists:
// the copy shares them with the original.
func hold(k *Key, from, to reflect.Value, classes []Class) {
	for _, f := range k.Fields {
		switch a, b := from.FieldByIndex(f.index), to.FieldByIndex(f.index); {
		case slices.Contains(classes, f.Reload):
			b.Set(a)
		case b.Kind() == reflect.Struct && f.Kind == KindObject:
			hold(f, a, b, classes)
		}
	}
}

// Watched returns every file that a change in force depends on: the
// configuration and what it includes, instructions, the rules of scripted
// models, and the files of secrets that are in use; each once.
func (c *Config) Watched() []string {
	files := c.Files()
	add := func(name string) {
		if name != "" && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	for _, id := range c.AgentIDs() {
		if text := c.Agents.Entries[id].Instructions; IsInstructionsFile(text) {
			add(text)
		}
	}
	for _, name := range mapKeys(reflect.ValueOf(c.Models.Providers)) {
		add(c.Models.Providers[name].File)
	}
	c.eachSecret(func(path Path, s Secret) {
		if s.Source() == SecretFile && !c.isInactive(path) {
			add(s.content().id)
		}
	})
	return files
}
