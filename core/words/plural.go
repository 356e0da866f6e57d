package words

// form is a plural form, as the Unicode CLDR names them.
type form uint8

const (
	formOther form = iota
	formOne
	formFew
	formMany
)

// of returns the wording of t in a form, other where it has none of its own.
func (f form) of(t text) string {
	wording := ""
	switch f {
	case formOne:
		wording = t.one
	case formFew:
		wording = t.few
	case formMany:
		wording = t.many
	case formOther:
	}
	if wording == "" {
		return t.other
	}
	return wording
}

// The rules, for whole numbers from 0. A catalogue names its rule; the package
// internal/catalogue lists the names and the forms that each needs.

// pluralNone has one form for all: Chinese, Japanese, Turkish.
func pluralNone(int) form { return formOther }

// pluralOne sets 1 apart: English, German, Dutch.
func pluralOne(n int) form {
	if n == 1 {
		return formOne
	}
	return formOther
}

// pluralOneMillion sets 1 and whole millions apart: Spanish, Italian.
func pluralOneMillion(n int) form {
	switch {
	case n == 1:
		return formOne
	case n != 0 && n%1_000_000 == 0:
		return formMany
	}
	return formOther
}

// pluralZeroOne sets 0 and 1 together, and whole millions, apart: French,
// Brazilian Portuguese.
func pluralZeroOne(n int) form {
	if n == 0 {
		return formOne
	}
	return pluralOneMillion(n)
}

// pluralSlavic goes by the last digits: Russian, Ukrainian.
func pluralSlavic(n int) form {
	switch ten, hundred := n%10, n%100; {
	case ten == 1 && hundred != 11:
		return formOne
	case ten >= 2 && ten <= 4 && (hundred < 12 || hundred > 14):
		return formFew
	}
	return formMany
}
