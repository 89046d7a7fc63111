autocmd BufNewFile,BufRead *.rly setfiletype rly
