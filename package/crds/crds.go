// Package crds holds the CustomResourceDefinitions of the provider, which make generate writes beside it.
package crds

import (
	"embed"
	"io/fs"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// All returns the CustomResourceDefinitions by their names.
func All() (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, errors.Wrap(err, "cannot list definitions")
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			return nil, errors.Wrap(err, "cannot read definition")
		}
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, d); err != nil {
			return nil, errors.Wrapf(err, "cannot decode %s", name)
		}
		all[d.GetName()] = d
	}
	return all, nil
}
