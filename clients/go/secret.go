package holdfast

// secret is a text that no fmt verb shows, wherever it is inside a printed value: fmt prints the
// pointer in it as an address.
type secret struct{ text *string }

func newSecret(text string) secret { return secret{&text} }

func (s secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}
