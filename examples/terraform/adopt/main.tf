# The configuration that Terraform has applied. Southbound does not read it: it adopts terraform.tfstate.
terraform {
  required_providers {
    postgresql = { source = "example.com/shop/postgresql", version = "~> 1.0" }
  }
}

variable "password" {
  sensitive = true
}

provider "postgresql" {
  host     = "/tmp/southbound-shop/pg"
  username = "postgres"
}

resource "postgresql_role" "team" {
  for_each = toset(["editors", "readers"])
  name     = "blog_${each.key}"
}

resource "postgresql_role" "blog" {
  name     = "blog"
  login    = true
  password = var.password
  roles    = [postgresql_role.team["editors"].name]
}

resource "postgresql_database" "blog" {
  name             = "blog"
  owner            = postgresql_role.blog.name
  connection_limit = 50
  lifecycle { prevent_destroy = true }
}

data "postgresql_schemas" "blog" {
  database = postgresql_database.blog.name
}
