-- The objects that Terraform has made from main.tf.
create role blog_editors;
create role blog_readers;
create role blog login password 'blog-password' in role blog_editors;
create database blog owner blog template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C' connection limit 50;
